/* redact.c - see redact.h. */
#include "redact.h"

#include "text.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HIDDEN "***"

/* A text being written into a buffer that may be too small for it. */
struct sink {
    char  *out;
    size_t size;
    size_t used;
};

static void put(struct sink *sink, const char *text, size_t length)
{
    size_t room = sink->size - 1 - sink->used;

    if (length > room)
        length = room;
    memcpy(sink->out + sink->used, text, length);
    sink->used += length;
    sink->out[sink->used] = '\0';
}

static bool is_secret_name(const char *name, size_t length)
{
    static const char *const words[] = { "password", "passwd",  "secret",  "token",
                                         "apikey",   "api-key", "api_key", "credential" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        for (size_t at = 0; at + n <= length; at++)
            if (strncasecmp(name + at, words[i], n) == 0)
                return true;
    }
    return false;
}

const char *redact_url_password(const char *url, size_t *length)
{
    const char *host = strstr(url, "://");

    if (host != NULL) {
        host += 3;
        size_t authority = strcspn(host, "/?# \t\n'\"");
        /* A password may itself contain '@': the last one ends it. */
        const char *at = memrchr(host, '@', authority);
        const char *colon = at != NULL ? memchr(host, ':', (size_t)(at - host)) : NULL;
        if (colon != NULL && colon + 1 < at) {
            *length = (size_t)(at - colon - 1);
            return colon + 1;
        }
    }
    const char *query = strchr(url, '?');
    while (query != NULL) {
        const char *key = query + 1;
        size_t      span = strcspn(key, "=&");
        if (key[span] == '=' && is_secret_name(key, span)) {
            *length = strcspn(key + span + 1, "&");
            return key + span + 1;
        }
        query = strchr(key, '&');
    }
    return NULL;
}

/* How long the part before the '=' is, if the word is NAME=VALUE; else 0. */
static size_t assigned_name(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '=')
            return i;
        if (!isalnum((unsigned char)word[i]) && strchr("-_.", word[i]) == NULL)
            return 0;
    }
    return 0;
}

/* Write one word; returns whether the next one is a secret. */
static bool put_word(struct sink *sink, const char *word, size_t length, bool secret)
{
    char   copy[512];
    size_t name = assigned_name(word, length), hidden;

    if (secret && word[0] != '-') {
        put(sink, HIDDEN, strlen(HIDDEN));
        return false;
    }
    if (name > 0 && is_secret_name(word, name)) {
        put(sink, word, name + 1);
        put(sink, HIDDEN, strlen(HIDDEN));
        return false;
    }
    if (length < sizeof copy) {
        memcpy(copy, word, length);
        copy[length] = '\0';
        const char *password = redact_url_password(copy, &hidden);
        if (password != NULL) {
            size_t before = (size_t)(password - copy);
            put(sink, word, before);
            put(sink, HIDDEN, strlen(HIDDEN));
            put(sink, word + before + hidden, length - before - hidden);
            return false;
        }
    }
    put(sink, word, length);
    return length > 2 && word[0] == '-' && word[1] == '-' && is_secret_name(word, length);
}

void redact_command(char *out, size_t size, char *const *argv, size_t columns)
{
    char        whole[2048], clean[2048];
    struct sink sink = { .out = whole, .size = sizeof whole };
    bool        secret = false;

    assert(size > 0);
    whole[0] = '\0';
    for (size_t i = 0; argv[i] != NULL; i++) {
        const char *arg = argv[i];
        bool        quote = arg[0] == '\0' || strpbrk(arg, " \t\n") != NULL;

        if (i > 0)
            put(&sink, " ", 1);
        if (quote)
            put(&sink, "'", 1);
        while (*arg != '\0') {
            size_t blank = strspn(arg, " \t\n"), length = strcspn(arg + blank, " \t\n");
            put(&sink, arg, blank);
            arg += blank;
            if (length > 0)
                secret = put_word(&sink, arg, length, secret);
            arg += length;
        }
        if (quote)
            put(&sink, "'", 1);
    }
    text_clean(clean, sizeof clean, whole);
    text_cut(clean, columns);
    snprintf(out, size, "%s", clean);
}
