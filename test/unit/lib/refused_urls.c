/* refused_urls.c - see refused_urls.h. */
#include "unit/lib/refused_urls.h"

#include "holdfast.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_refusal(url_parser *parse, const char *url, const char *says)
{
    char errmsg[HF_ERRMSG_MAX] = "";

    if (parse(url, errmsg) != HF_EINVAL || strstr(errmsg, says) == NULL ||
        strstr(errmsg, "hunter2") != NULL || strpbrk(errmsg, "\r\n") != NULL)
        fail_msg("%s: %s", url, errmsg);
}

void refused_urls(url_parser *parse, const char *const (*cases)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_refusal(parse, cases[i][0], cases[i][1]);
}

void refused_secret_files(url_parser *parse, const char *scheme,
                          const struct refused_file *cases, size_t count)
{
    char path[160], url[256];

    secret_file_init(path);
    snprintf(url, sizeof url, "%s://h?auth=%s", scheme, path);
    check_refusal(parse, url, "No such file");
    for (size_t i = 0; i < count; i++) {
        secret_file_write(path, cases[i].text, cases[i].mode);
        check_refusal(parse, url, cases[i].says);
    }
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    check_refusal(parse, url, "directory");
    rmdir(path);
    secret_file_remove(path);
}

void secret_file_init(char path[160])
{
    const char *base = getenv("TMPDIR");

    snprintf(path, 160, "%.80s/config.XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    strcat(path, "/auth");
}

void secret_file_write(const char *path, const char *text, mode_t mode)
{
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    assert_int_equal(chmod(path, mode), 0);
}

void secret_file_remove(const char *path)
{
    char folder[160];

    unlink(path);
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(rmdir(folder), 0);
}
