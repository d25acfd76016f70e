/* words.c - see words.h. */
#include "words.h"

#include "place.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BAR      6
#define FRESH_US (15 * 1000000) /* the monitor reads leases every 5 s, if it can */

const char *words_trip(char out[WORDS_SHORT], int64_t us)
{
    if (us < 0)
        snprintf(out, WORDS_SHORT, "-");
    else if (us < 1000)
        snprintf(out, WORDS_SHORT, "%dus", (int)us);
    else if (us < 1000000)
        snprintf(out, WORDS_SHORT, "%.1fms", (double)us / 1e3);
    else
        snprintf(out, WORDS_SHORT, "%.1fs", (double)us / 1e6);
    return out;
}

const char *words_time(char out[WORDS_SHORT], int64_t time, int64_t now)
{
    time_t    seconds = (time_t)(time / 1000000), today = (time_t)(now / 1000000);
    struct tm tm, tm_now;

    if (time <= 0 || localtime_r(&seconds, &tm) == NULL ||
        localtime_r(&today, &tm_now) == NULL) {
        snprintf(out, WORDS_SHORT, "-");
        return out;
    }
    bool same = tm.tm_year == tm_now.tm_year && tm.tm_yday == tm_now.tm_yday;
    if (same)
        snprintf(out, WORDS_SHORT, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
    else
        snprintf(out, WORDS_SHORT, "%d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1,
                 tm.tm_mday);
    return out;
}

static bool has_lease(int64_t left_ms)
{
    return left_ms >= 0 && left_ms != INT64_MAX;
}

int64_t words_left_ms(const struct snapshot *snapshot, const struct lock *lock,
                      size_t place)
{
    int64_t left = lock_left_ms(lock, place);

    return has_lease(left) && snapshot->now - lock->seen > FRESH_US ? WORDS_FORGOTTEN
                                                                    : left;
}

const char *words_lease(char out[WORDS_SHORT], const struct snapshot *snapshot,
                        int64_t left_ms)
{
    char bar[BAR + 1];

    if (left_ms == INT64_MAX)
        return strcpy(out, "kernel");
    if (left_ms < 0 && left_ms != WORDS_FORGOTTEN)
        return strcpy(out, "session");
    if (!snapshot->reachable || left_ms == WORDS_FORGOTTEN)
        return strcpy(out, "?"); /* it may have been renewed without our notice */
    int64_t whole = snapshot->lease_ms > left_ms ? snapshot->lease_ms : left_ms;
    int64_t full = whole > 0 ? (left_ms * BAR + whole - 1) / whole : 0;
    for (int i = 0; i < BAR; i++)
        bar[i] = i < full ? '|' : ' ';
    bar[BAR] = '\0';
    if (left_ms < 100 * 1000)
        snprintf(out, WORDS_SHORT, "[%s] %2ds", bar, (int)(left_ms / 1000));
    else
        snprintf(out, WORDS_SHORT, "[%s] %2dm", bar, (int)(left_ms / 60000 % 1000));
    return out;
}

void words_shorten_lease(char *text, size_t width)
{
    char *end = strchr(text, ']');

    if (end != NULL && strlen(text) > width)
        end[1] = '\0';
}

bool words_lease_is_low(const struct snapshot *snapshot, int64_t left_ms)
{
    return has_lease(left_ms) && snapshot->reachable && left_ms < snapshot->lease_ms / 3;
}

/* ---- For the shell ---------------------------------------------------------------- */

static bool is_plain(const char *word)
{
    const char *fine = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                       "_./:@%+=,-";

    return *word != '\0' && word[strspn(word, fine)] == '\0';
}

static bool is_visible(const char *word)
{
    while (*word != '\0') {
        size_t length = text_utf8(word);
        if (length == 0 || text_is_hidden(text_character(word)))
            return false;
        word += length;
    }
    return true;
}

/* One byte in $'...'. */
static void quote_byte(char out[8], unsigned char byte)
{
    if (byte == '\'' || byte == '\\')
        snprintf(out, 8, "\\%c", byte);
    else if (byte < ' ' || byte > '~')
        snprintf(out, 8, "\\x%02x", byte);
    else
        snprintf(out, 8, "%c", byte);
}

void words_quote(char *out, size_t size, const char *word)
{
    bool   visible = is_visible(word);
    size_t used;

    if (is_plain(word)) {
        snprintf(out, size, "%s", word);
        return;
    }
    used = (size_t)snprintf(out, size, visible ? "'" : "$'");
    for (; *word != '\0' && used + 6 < size; word++) {
        char piece[8];
        if (!visible)
            quote_byte(piece, (unsigned char)*word);
        else
            snprintf(piece, sizeof piece, *word == '\'' ? "'\\''" : "%c", *word);
        used += (size_t)snprintf(out + used, size - used, "%s", piece);
    }
    snprintf(out + used, size - used, "'");
}

void words_command(char *out, size_t size, const struct snapshot *snapshot,
                   const char *verb, uint64_t token, const char *name)
{
    char url[1200], number[48] = "", quoted[4200];

    words_quote(url, sizeof url, snapshot->store); /* the command may be typed anywhere */
    if (token != 0)
        snprintf(number, sizeof number, " --token %" PRIu64, token);
    words_quote(quoted, sizeof quoted, name);
    snprintf(out, size, "holdfast %s --url %s%s %s%s", verb, url, number,
             name[0] == '-' ? "-- " : "", quoted);
}

/* ---- Places ------------------------------------------------------------------------ */

const char *words_holder(char *out, size_t size, const struct lock *lock)
{
    char address[PLACE_TEXT_MAX];

    if (lock->holder == NULL)
        snprintf(out, size, "-");
    else if (lock->holders > 1)
        snprintf(out, size, "%s +%zu", place_address(address, lock->holder),
                 lock->holders - 1);
    else
        snprintf(out, size, "%s", place_address(address, lock->holder));
    return out;
}

void words_what(char *out, size_t size, const struct hf_entry *entry)
{
    const char *what = place_is_stranger(entry) ? entry->note : entry->command;

    size_t used = place_is_stopped(entry) ? (size_t)snprintf(out, size, "(stopped) ") : 0;
    if (used < size)
        text_clean(out + used, size - used, what);
}
