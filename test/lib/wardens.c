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
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT_MS 20000

/* A limit that the kernel has not used for long, and that all inherit.  Who is not dumpable
 * shows his limits to everybody, but not his environment. */
#define MARK   RLIMIT_LOCKS
#define MARKED "Max file locks"

void wardens_start(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(MARK, &limit), 0);
    limit.rlim_cur = (rlim_t)getpid();
    assert_int_equal(setrlimit(MARK, &limit), 0);
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

void wardens_script(const char *text, char *path)
{
    const char *base = getenv("TMPDIR");
    ssize_t     size = (ssize_t)strlen(text);

    snprintf(path, WARDENS_PATH_MAX, "%.80s/warden-XXXXXX", base != NULL ? base : "/tmp");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, (size_t)size), size);
    assert_int_equal(fchmod(fd, 0700), 0);
    close(fd);
}

/* What a file of /proc has; terminated.  Its size, or 0. */
static size_t read_file(pid_t pid, const char *file, char *text, size_t size)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

static bool is_warden(pid_t pid)
{
    char   text[4096];
    size_t size = read_file(pid, "cmdline", text, sizeof text);

    for (char *at = text; at < text + size; at += strlen(at) + 1)
        if (strcmp(at, "warden") == 0)
            return true;
    return false;
}

static bool is_marked(pid_t pid, rlim_t mark)
{
    char text[4096];

    if (read_file(pid, "limits", text, sizeof text) == 0)
        return false;
    const char *at = strstr(text, MARKED);
    return at != NULL && strtoull(at + strlen(MARKED), NULL, 10) == mark;
}

/* The process of one of them, if any, in *ret. */
static size_t find_wardens(pid_t *ret)
{
    struct rlimit  mark;
    size_t         count = 0;
    DIR           *all = opendir("/proc");
    struct dirent *entry;

    assert_non_null(all);
    assert_int_equal(getrlimit(MARK, &mark), 0);
    while ((entry = readdir(all)) != NULL) {
        pid_t pid = atoi(entry->d_name);
        if (pid > 0 && is_warden(pid) && is_marked(pid, mark.rlim_cur)) {
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
