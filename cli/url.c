/* url.c - see url.h. */
#include "url.h"

#include "cli.h"
#include "redact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define URL_MAX 4096

static bool has_password(const char *url)
{
    size_t length;

    return redact_url_password(url, &length) != NULL;
}

/* ---- From a file -------------------------------------------------------------- */

/* Root may share a file with a group; nobody else's secret is for others. */
static bool is_private(const struct stat *st)
{
    mode_t others = st->st_uid == 0 ? S_IRWXO | S_IWGRP : S_IRWXO | S_IRWXG;

    return (st->st_mode & others) == 0;
}

/* Until it ends, or the first line does.  -1: errno tells. */
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
    else if (has_password(text) && !is_private(&st))
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

/* A path that starts here, whatever the command makes its working directory.  In a
 * URL '%' and '?' mean something else. */
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

static int set_store(const char *url)
{
    const char *rest = strncmp(url, "sqlite:", 7) == 0 ? url + 7 : "/";

    if (has_password(url))
        return setenv("HOLDFAST_STORE", "", 1);
    if (rest[0] == '/' || rest[0] == '\0')
        return setenv("HOLDFAST_STORE", url, 1);
    char *whole = from_root(rest);
    int   r = whole != NULL ? setenv("HOLDFAST_STORE", whole, 1) : -1;
    free(whole);
    return r;
}

int url_hand_down(const char *url)
{
    const char *ours = getenv("HOLDFAST_URL");

    if (url == NULL)
        url = ours;
    int r = url != NULL && *url != '\0' ? set_store(url) : unsetenv("HOLDFAST_STORE");
    if (ours != NULL && has_password(ours))
        unsetenv("HOLDFAST_URL");
    unsetenv("HOLDFAST_ZK_AUTH"); /* user and password, see holdfast(1) */
    unsetenv("HOLDFAST_REDIS_AUTH");
    return r;
}

const char *url_handed_down(void)
{
    return getenv("HOLDFAST_STORE");
}
