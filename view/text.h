/* text.h - times, numbers and other people's text, read and written. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "1.5", "500ms", "2m", "1h", "1d"; a plain number is seconds.  Milliseconds,
 * rounded up, or -1. */
int64_t text_parse_duration(const char *text);

/* Digits only, from `least` to `most`; false: it is not that. */
bool text_parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *ret);

/* "TERM", "SIGTERM" or "15"; -1 if there is no such signal. */
int text_parse_signal(const char *text);

/* "TERM", or its number. */
const char *text_signal(int signal);

/* "3s", "12m03s", "2h05m", "3d04h", from microseconds. */
#define TEXT_AGE_MAX 32
const char *text_age(char out[TEXT_AGE_MAX], int64_t microseconds);

/* "2026-11-15T21:34:05.123456Z", from microseconds since 1970. */
#define TEXT_TIME_MAX 40
const char *text_time(char out[TEXT_TIME_MAX], int64_t microseconds);

/* Copy what fits, so that it can be shown: with '?' for what is not UTF-8, and
 * "\u202e" or "\n" for control characters and for all that changes how the text around it
 * looks, or shows nothing itself. */
void text_clean(char *out, size_t size, const char *text);

/* How much longer a text may become by that. */
#define TEXT_CLEAN_FACTOR 6

/* Cut to so many columns, with "..." at the end if anything had to go. */
void text_cut(char *text, size_t columns);

/* How many columns of a terminal a clean text takes: none for a combining mark, two
 * for most of East Asia. */
size_t text_columns(const char *text);

/* How many bytes of a clean text fit into so many columns: whole characters, with their
 * combining marks. */
size_t text_fit(const char *text, size_t columns);

/* Length of the UTF-8 character at `text`, 0 if there is none. */
size_t text_utf8(const char *text);

/* The character there. */
uint32_t text_character(const char *text);

/* Is it one of those that text_clean() does not let through? */
bool text_is_hidden(uint32_t character);

#endif
