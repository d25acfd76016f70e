/* guardians.c - see guardians.h. */
#include "lib/guardians.h"

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

/* The mark is a resource limit that the kernel no longer uses, which children inherit.
 * The limits of a process that is not dumpable can be read by everybody, its environment
 * cannot. */
#define MARK   RLIMIT_LOCKS
#define MARKED "Max file locks"

void guardians_start(void)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(MARK, &limit), 0);
    limit.rlim_cur = (rlim_t)getpid();
    assert_int_equal(setrlimit(MARK, &limit), 0);
}

const char *guardians_program(void)
{
    static char path[PATH_MAX];
    char        self[PATH_MAX - 32] = "";

    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    do { /* up from BUILD/test/..., to the first folder that has the command */
        *strrchr(self, '/') = '\0';
        snprintf(path, sizeof path, "%s/holdfast", self);
    } while (self[0] != '\0' && access(path, X_OK) != 0);
    return path;
}

void guardians_script(const char *text, char *path)
{
    const char *base = getenv("TMPDIR");
    ssize_t     size = (ssize_t)strlen(text);

    snprintf(path, GUARDIANS_PATH_MAX, "%.80s/guardian-XXXXXX",
             base != NULL ? base : "/tmp");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, (size_t)size), size);
    assert_int_equal(fchmod(fd, 0700), 0);
    close(fd);
}

/* Read a file of /proc, and terminate it.  Its size, or 0. */
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

static bool is_guardian(pid_t pid)
{
    char   text[4096];
    size_t size = read_file(pid, "cmdline", text, sizeof text);

    for (char *at = text; at < text + size; at += strlen(at) + 1)
        if (strcmp(at, "guardian") == 0)
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

/* Count them; *ret becomes the process of one, if there is any. */
static size_t find_guardians(pid_t *ret)
{
    struct rlimit  mark;
    size_t         count = 0;
    DIR           *all = opendir("/proc");
    struct dirent *entry;

    assert_non_null(all);
    assert_int_equal(getrlimit(MARK, &mark), 0);
    while ((entry = readdir(all)) != NULL) {
        pid_t pid = atoi(entry->d_name);
        if (pid > 0 && is_guardian(pid) && is_marked(pid, mark.rlim_cur)) {
            count++;
            *ret = pid;
        }
    }
    closedir(all);
    return count;
}

size_t guardians_count(void)
{
    pid_t one;

    return find_guardians(&one);
}

pid_t guardians_one(void)
{
    pid_t one = 0;

    find_guardians(&one);
    return one;
}

void guardians_await(size_t count)
{
    int64_t end = recipe_ms() + LIMIT_MS;

    while (guardians_count() != count && recipe_ms() < end)
        poll(NULL, 0, 5);
    assert_int_equal(guardians_count(), count);
}
