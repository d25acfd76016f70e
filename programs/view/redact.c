/* redact.c - see redact.h. */
#include "redact.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HIDDEN "***"

/* A text being written into a buffer that may be too small for it. */
struct output {
    char  *out;
    size_t size;
    size_t used;
};

static void put_bytes(struct output *output, const char *text, size_t length)
{
    size_t room = output->size - 1 - output->used;

    if (length > room)
        length = room;
    memcpy(output->out + output->used, text, length);
    output->used += length;
    output->out[output->used] = '\0';
}

static bool is_secret_name(const char *name, size_t length)
{
    static const char *const words[] = { "password",  "passwd",     "secret",
                                         "token",     "apikey",     "api-key",
                                         "api_key",   "credential", "client_key",
                                         "server_key" };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        for (size_t at = 0; at + n <= length; at++)
            if (strncasecmp(name + at, words[i], n) == 0)
                return true;
    }
    return false;
}

/* What follows the colon before a password; NULL: there is none.  Stores decode %3A before
 * they look for it. */
static const char *after_colon(const char *user, const char *end)
{
    for (; user < end; user++)
        if (*user == ':')
            return user + 1;
        else if (strncasecmp(user, "%3a", 3) == 0)
            return user + 3;
    return NULL;
}

/* The password of "user:password@" at `host`; NULL: there is none. */
static const char *user_password(const char *host, size_t *length)
{
    size_t authority = strcspn(host, "/? \t\n");
    /* A password may itself contain '@': the last one ends it. */
    const char *at = memrchr(host, '@', authority);
    const char *password = at != NULL ? after_colon(host, at) : NULL;
    if (password == NULL || password >= at)
        return NULL;
    *length = (size_t)(at - password);
    return password;
}

/* The value of the parameter at `name`, if it is a secret; NULL: it is none.  A name with
 * %XX in it may be any.  A quote may be part of the value, but at its end it closes what
 * was quoted. */
static const char *secret_value(const char *name, size_t *length)
{
    size_t      span = strcspn(name, "=?& \t\n");
    const char *value = name + span + 1;

    bool escaped = memchr(name, '%', span) != NULL;

    if (name[span] != '=' || !(escaped || is_secret_name(name, span)))
        return NULL;
    *length = strcspn(value, "& \t\n");
    while (*length > 0 && strchr("'\"", value[*length - 1]) != NULL)
        --*length;
    return value;
}

/* The first secret of the URLs in a text; NULL: there is none. */
static const char *url_secret(const char *text, size_t *length)
{
    const char *found = NULL;

    for (; *text != '\0' && found == NULL; text++)
        if (strncmp(text, "://", 3) == 0)
            found = user_password(text + 3, length);
        else if (*text == '?' || *text == '&')
            found = secret_value(text + 1, length);
    return found;
}

/* A store's URL in which an @ stands anywhere else than behind "//user:password": all
 * before it may be a password that was not written as URLs want it. */
static const char *stray_secret(const char *url, size_t *length)
{
    static const char *const paths[] = { "sqlite:", "memory:", "redis+unix:" };
    const char              *host = strstr(url, "://"), *at = strrchr(url, '@');

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (host == NULL && strncmp(url, paths[i], strlen(paths[i])) == 0)
            return NULL;
    if (at == NULL || (host != NULL && at < host + 3 + strcspn(host + 3, "/?")))
        return NULL;
    const char *start = host != NULL ? host + 3 : url;
    start += strcspn(start, ":/?");
    start += start < at;
    start = start < at ? start : url;
    *length = (size_t)(at - start);
    return start;
}

bool redact_url_has(const char *url)
{
    size_t length;

    return url_secret(url, &length) != NULL || stray_secret(url, &length) != NULL;
}

static void wipe_secret(char *url, const char *secret, size_t length)
{
    memset(url + (secret - url), 'x', length);
}

void redact_text(char *text)
{
    size_t      length;
    const char *secret = text;

    while ((secret = url_secret(secret, &length)) != NULL) {
        wipe_secret(text, secret, length);
        secret += length;
    }
}

void redact_url_wipe(char *url)
{
    size_t      length;
    const char *secret = stray_secret(url, &length);

    if (secret != NULL)
        wipe_secret(url, secret, length);
    redact_text(url);
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
static bool put_word(struct output *output, const char *word, size_t length, bool secret)
{
    char   copy[512];
    size_t name = assigned_name(word, length), hidden;

    if (secret && word[0] != '-') {
        put_bytes(output, HIDDEN, strlen(HIDDEN));
        return false;
    }
    if (name > 0 && is_secret_name(word, name)) {
        put_bytes(output, word, name + 1);
        put_bytes(output, HIDDEN, strlen(HIDDEN));
        return false;
    }
    if (length < sizeof copy) {
        memcpy(copy, word, length);
        copy[length] = '\0';
        const char *from = copy, *password;
        while ((password = url_secret(from, &hidden)) != NULL) {
            put_bytes(output, from, (size_t)(password - from));
            put_bytes(output, HIDDEN, strlen(HIDDEN));
            from = password + hidden;
        }
        if (from != copy) {
            put_bytes(output, from, strlen(from));
            return false;
        }
    }
    put_bytes(output, word, length);
    return length > 2 && word[0] == '-' && word[1] == '-' && is_secret_name(word, length);
}

/* A command as one line, its words quoted where they need it. */
static void put_words(struct output *output, char *const *argv)
{
    bool secret = false;

    for (size_t i = 0; argv[i] != NULL; i++) {
        const char *arg = argv[i];
        bool        quote = arg[0] == '\0' || strpbrk(arg, " \t\n") != NULL;

        if (i > 0)
            put_bytes(output, " ", 1);
        if (quote)
            put_bytes(output, "'", 1);
        while (*arg != '\0') {
            size_t blank = strspn(arg, " \t\n"), length = strcspn(arg + blank, " \t\n");
            put_bytes(output, arg, blank);
            arg += blank;
            if (length > 0)
                secret = put_word(output, arg, length, secret);
            arg += length;
        }
        if (quote)
            put_bytes(output, "'", 1);
    }
}

void redact_command(char *out, size_t size, char *const *argv)
{
    struct output output = { .out = out, .size = size };

    assert(size > 0);
    out[0] = '\0';
    put_words(&output, argv);
}

/* A text between two blanks is one URL, or none. */
static void wipe_words(char *text)
{
    for (char *word = text; *word != '\0';) {
        char *end = word + strcspn(word, " \t\n"), blank = *end;
        *end = '\0';
        if (strchr(word, ':') != NULL)
            redact_text(word);
        *end = blank;
        word = end + strspn(end, " \t\n");
    }
}

void redact_urls(char *out, size_t size, char *const *argv)
{
    struct output output = { .out = out, .size = size };

    assert(size > 0);
    out[0] = '\0';
    for (size_t i = 0; argv[i] != NULL; i++) {
        if (i > 0)
            put_bytes(&output, " ", 1);
        char *copy = strdup(argv[i]); /* the whole: a URL may be cut before its @ */
        if (copy != NULL)
            wipe_words(copy);
        put_bytes(&output, copy != NULL ? copy : HIDDEN,
                  strlen(copy != NULL ? copy : HIDDEN));
        free(copy);
    }
}

const char *redact_program(char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : argv[0];
}
