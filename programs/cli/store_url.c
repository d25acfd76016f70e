/* store_url.c - see store_url.h. */
#include "store_url.h"

#include "complain.h"
#include "redact.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define URL_MAX 4096

/* ---- From a file -------------------------------------------------------------- */

/* A file of root may be readable by a group; one of another user must be private. */
static bool is_private(const struct stat *st)
{
    mode_t others = st->st_uid == 0 ? S_IRWXO | S_IWGRP : S_IRWXO | S_IRWXG;

    return (st->st_mode & others) == 0;
}

/* Read up to the end of the file or of its first line.  -1 and errno. */
static ssize_t read_line(int fd, char *buffer, size_t size)
{
    size_t used = 0;

    while (used < size - 1 && memchr(buffer, '\n', used) == NULL) {
        ssize_t n = read(fd, buffer + used, size - 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -1 : (ssize_t)used;
        used += (size_t)n;
    }
    return (ssize_t)used;
}

static char *take_line(int fd, const char *path)
{
    char        text[URL_MAX];
    struct stat st;
    char       *url = NULL;

    ssize_t n = fstat(fd, &st) < 0 ? -1 : read_line(fd, text, sizeof text);
    if (n < 0) {
        complain("--url-file %s: %s", path, strerror(errno));
        return NULL;
    }
    text[n] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (text[0] == '\0' || strlen(text) == sizeof text - 1)
        complain("--url-file %s: its first line is not the URL of a store", path);
    else if (redact_url_has(text) && !is_private(&st))
        complain("--url-file %s: others may read it, and there is a password in it; "
                 "chmod 600 it",
                 path);
    else if ((url = strdup(text)) == NULL)
        complain_errno("--url-file");
    explicit_bzero(text, sizeof text);
    return url;
}

char *url_read_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0) {
        complain("--url-file %s: %s", path, strerror(errno));
        return NULL;
    }
    char *url = take_line(fd, path);
    close(fd);
    return url;
}

/* ---- To the command ------------------------------------------------------------ */

/* An absolute path, since the command may change its working directory.  '%' and '?' have
 * a meaning in a URL. */
static char *from_root(const char *rest)
{
    char  *here = getcwd(NULL, 0), *url = NULL;
    size_t size;
    FILE  *out = here != NULL ? open_memstream(&url, &size) : NULL;

    if (out == NULL) {
        free(here);
        return NULL;
    }
    fputs("sqlite:", out);
    for (const char *c = here; *c != '\0'; c++)
        fprintf(out, *c == '%' || *c == '?' ? "%%%02X" : "%c", *c);
    fprintf(out, "/%s", rest);
    free(here);
    if (fclose(out) != 0) {
        free(url);
        return NULL;
    }
    return url;
}

/* The same URL, usable in any working directory; free it.  NULL: no memory. */
static char *portable(const char *url)
{
    const char *rest = strncmp(url, "sqlite:", 7) == 0 ? url + 7 : "/";

    return rest[0] == '/' || rest[0] == '\0' ? strdup(url) : from_root(rest);
}

static int set_store(const char *url)
{
    if (redact_url_has(url))
        return unsetenv("HOLDFAST_URL") < 0 ? -1 : setenv("HOLDFAST_STORE", "", 1);
    char *whole = portable(url);
    int   r = -1;
    if (whole != NULL && setenv("HOLDFAST_STORE", whole, 1) == 0)
        r = setenv("HOLDFAST_URL", whole, 1);
    free(whole);
    return r;
}

int url_hand_down(const char *url)
{
    unsetenv("HOLDFAST_ZK_AUTH"); /* user and password, see holdfast(1) */
    unsetenv("HOLDFAST_REDIS_AUTH");
    unsetenv("HOLDFAST_MARIADB_AUTH");
    if (url == NULL)
        url = getenv("HOLDFAST_URL");
    if (url != NULL && *url != '\0')
        return set_store(url);
    unsetenv("HOLDFAST_URL");
    return unsetenv("HOLDFAST_STORE");
}

bool url_is_withheld(void)
{
    const char *url = getenv("HOLDFAST_URL"), *store = getenv("HOLDFAST_STORE");

    return (url == NULL || *url == '\0') && store != NULL && *store == '\0';
}

bool url_is_memory(const char *url)
{
    if (url == NULL)
        url = getenv("HOLDFAST_URL");
    return url != NULL && strncmp(url, "memory:", 7) == 0;
}

const char *url_handed_down(void)
{
    return getenv("HOLDFAST_STORE");
}

/* ---- History
 * ------------------------------------------------------------------------ */

#define HISTORY "history="

char *url_with_history(const char *url, int64_t keep)
{
    char  *text = NULL;
    size_t size;

    if (url == NULL)
        url = getenv("HOLDFAST_URL");
    if (url == NULL)
        url = "sqlite:";
    if (*url == '\0') /* it is refused, and must stay as it is */
        return strdup(url);
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    size_t length = strcspn(url, "?");
    fprintf(out, "%.*s?" HISTORY "%" PRId64, (int)length, url, keep);
    for (url += length; *url != '\0'; url += length) {
        length = 1 + strcspn(url + 1, "&"); /* with the ? or & before it */
        if (length > 1 && strncmp(url + 1, HISTORY, strlen(HISTORY)) != 0)
            fprintf(out, "&%.*s", (int)length - 1, url + 1);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* ---- Ours ------------------------------------------------------------------------ */

/* Every value of a variable: there may be several. */
static void wipe_variable(const char *name)
{
    size_t length = strlen(name);

    for (char **variable = environ; *variable != NULL; variable++)
        if (strncmp(*variable, name, length) == 0 && (*variable)[length] == '=')
            explicit_bzero(*variable + length + 1, strlen(*variable + length + 1));
}

static void hide(const char *name, const char *value)
{
    char *copy = strdup(value);

    if (copy == NULL)
        return;
    wipe_variable(name);
    unsetenv(name);
    setenv(name, copy, 1); /* in memory of its own */
    explicit_bzero(copy, strlen(copy));
    free(copy);
}

void url_hide_secrets(void)
{
    static const char *const names[] = { "HOLDFAST_ZK_AUTH", "HOLDFAST_REDIS_AUTH",
                                         "HOLDFAST_MARIADB_AUTH" };
    const char              *url = getenv("HOLDFAST_URL");

    if (url != NULL && redact_url_has(url))
        hide("HOLDFAST_URL", url);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL)
            hide(names[i], value);
    }
}
