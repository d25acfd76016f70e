/* fence_folder.c - see fence_folder.h. */
#include "unit/lib/fence_folder.h"

#include "holdfast.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[128];

int fence_setup(void **state)
{
    const char *top = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof folder, "%.90s/fence.XXXXXX", top != NULL ? top : "/tmp");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

int fence_teardown(void **state)
{
    DIR *dir = opendir(folder);

    (void)state;
    if (dir == NULL)
        return -1;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        unlinkat(dirfd(dir), entry->d_name, 0);
        if (strncmp(entry->d_name, "..", 2) != 0 && strcmp(entry->d_name, ".") != 0)
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
    return rmdir(folder);
}

const char *fence_path(const char *name)
{
    static char paths[4][512];
    static int  next;

    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s%s%s", folder, *name != '\0' ? "/" : "", name);
    return path;
}

const char *fence_read(const char *name)
{
    static char text[64];

    int fd = open(fence_path(name), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return "(none)";
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

void fence_put(const char *name, const char *text)
{
    int fd = open(fence_path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

char fence_said[512];

int fence_try(const char *name, uint64_t token, int64_t timeout_ms)
{
    strcpy(fence_said, "");
    return hf_fence_file(fence_path(name), token, timeout_ms, fence_said,
                         sizeof fence_said);
}

void fence_assert_claims(const char *name, uint64_t token)
{
    int fd = fence_try(name, token, 0);

    if (fd < 0)
        fail_msg("%s, token %ju: %s", name, (uintmax_t)token, fence_said);
    assert_int_equal(close(fd), 0);
}

void fence_assert_says(const char *words)
{
    if (strstr(fence_said, words) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", fence_said, words);
}

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!write(fd, text, strlen(text));
        close(fd);
    }
}

bool fence_mount_disk(const char *size)
{
    char  text[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();

    if (unshare(CLONE_NEWNS) < 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
            return false;
        write_text("/proc/self/setgroups", "deny");
        snprintf(text, sizeof text, "0 %u 1", uid);
        write_text("/proc/self/uid_map", text);
        snprintf(text, sizeof text, "0 %u 1", gid);
        write_text("/proc/self/gid_map", text);
    }
    snprintf(text, sizeof text, "size=%s,mode=700", size);
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", folder, "tmpfs", 0, text) == 0;
}
