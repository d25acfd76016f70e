/* wardens.c - see wardens.h. */
#include "lib/wardens.h"

#include "lib/recipe.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_MS 20000
#define MARK     "HF_TEST_WARDENS"

void wardens_start(void)
{
    char text[32];

    snprintf(text, sizeof text, "%ld", (long)getpid());
    setenv(MARK, text, 1);
}

const char *wardens_program(void)
{
    static char path[PATH_MAX];
    char        self[PATH_MAX - 32] = "";

    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    for (int i = 0; i < 3; i++) /* build/test/unit/NAME */
        *strrchr(self, '/') = '\0';
    snprintf(path, sizeof path, "%s/holdfast", self);
    return path;
}

/* Of a file of /proc, whose lines end with zeros: does it have this one? */
static bool has_line(pid_t pid, const char *file, const char *line)
{
    static char text[64 * 1024];
    char        path[64];

    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    for (char *at = text; at < text + n; at += strlen(at) + 1)
        if (strcmp(at, line) == 0)
            return true;
    return false;
}

/* The process of one of them, if any, in *ret. */
static size_t find_wardens(pid_t *ret)
{
    char           mark[64];
    size_t         count = 0;
    DIR           *all = opendir("/proc");
    struct dirent *entry;

    assert_non_null(all);
    snprintf(mark, sizeof mark, MARK "=%s", getenv(MARK));
    while ((entry = readdir(all)) != NULL) {
        pid_t pid = atoi(entry->d_name);
        if (pid > 0 && has_line(pid, "cmdline", "warden") &&
            has_line(pid, "environ", mark)) {
            count++;
            *ret = pid;
        }
    }
    closedir(all);
    return count;
}

size_t wardens_count(void)
{
    pid_t one;

    return find_wardens(&one);
}

pid_t wardens_one(void)
{
    pid_t one = 0;

    find_wardens(&one);
    return one;
}

void wardens_await(size_t count)
{
    int64_t end = recipe_ms() + LIMIT_MS;

    while (wardens_count() != count && recipe_ms() < end)
        poll(NULL, 0, 5);
    assert_int_equal(wardens_count(), count);
}
