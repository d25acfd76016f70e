/* text.h - parses and prints times, numbers and other people's text. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "1.5", "500ms", "2m", "1h", "1d"; a plain number is seconds.  Milliseconds,
 * rounded up, or -1. */
int64_t text_parse_duration(const char *text);

/* A number from `least` to `most`, digits only; false: it is not one. */
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

/* Copy as much as fits, safe to show: with '?' for bytes that are not UTF-8, and "\u202e" or
 * "\n" for control characters and for characters that are invisible or change how the text
 * around them looks. */
void text_clean(char *out, size_t size, const char *text);

/* By which factor a text may grow. */
#define TEXT_CLEAN_FACTOR 6

/* Cut the text to so many columns, with "..." at the end if it was longer. */
void text_cut(char *text, size_t columns);

/* How many columns of a terminal a clean text takes: none for a combining mark, two
 * for most of East Asia. */
size_t text_columns(const char *text);

/* How many bytes of a clean text fit into so many columns: whole characters with their
 * combining marks. */
size_t text_fit(const char *text, size_t columns);

/* Length of the UTF-8 character at `text`, 0 if there is none. */
size_t text_utf8(const char *text);

/* The character there. */
uint32_t text_character(const char *text);

/* Writes the character as UTF-8; returns the number of bytes. */
size_t text_encode(char out[4], uint32_t character);

/* Does text_clean() escape it? */
bool text_is_hidden(uint32_t character);

#endif
