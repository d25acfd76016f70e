/* cgroup.c - see cgroup.h. */
#include "guard/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <linux/magic.h>
#include <linux/sched.h>

int cgroup_choose_name(struct cgroup_name *ret)
{
    uint64_t number;

    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return -1;
    snprintf(ret->text, sizeof ret->text, "holdfast-%d-%016" PRIx64, (int)getpid(),
             number);
    return 0;
}

/* Where version 2 is mounted: alone, or beside version 1. */
static int open_mount(void)
{
    static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct statfs fs;
        if (statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
            return open(places[i], O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    }
    return -1;
}

/* The folder of the group this process is in. */
static int open_own(void)
{
    char  line[PATH_MAX] = "", *path = NULL;
    FILE *file = fopen("/proc/self/cgroup", "re");

    if (file == NULL)
        return -1;
    while (path == NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "0::/", 4) == 0)
            path = line + 4;
    fclose(file);
    if (path == NULL)
        return -1;
    path[strcspn(path, "\n")] = '\0';

    int mount = open_mount();
    if (mount < 0 || *path == '\0')
        return mount;
    int own = openat(mount, path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    close(mount);
    return own;
}

static int open_group(int own, const char *name)
{
    return openat(own, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
}

/* Another run that sweeps has it locked for a moment, before we have: then it is gone, or
 * will be. */
static bool may_use(int group)
{
    return flock(group, LOCK_EX | LOCK_NB) == 0 &&
           faccessat(group, "cgroup.kill", W_OK, 0) == 0;
}

int cgroup_make(const struct cgroup_name *name)
{
    int group = -1, own = open_own();

    if (own < 0)
        return -1;
    if (mkdirat(own, name->text, 0755) == 0) {
        group = open_group(own, name->text);
        if (group < 0 || !may_use(group)) {
            if (group >= 0)
                close(group);
            unlinkat(own, name->text, AT_REMOVEDIR);
            group = -1;
        }
    }
    close(own);
    return group;
}

int cgroup_find(const struct cgroup_name *name)
{
    int own = open_own();

    if (own < 0)
        return -1;
    int group = open_group(own, name->text);
    close(own);
    return group;
}

static void write_file(int group, const char *file, const char *text)
{
    int fd = openat(group, file, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    ssize_t n = write(fd, text, strlen(text));
    (void)n; /* if that is not permitted, we do without */
    close(fd);
}

/* A process that is moved there later waits for a grace period of the kernel, ten
 * milliseconds or more.  A kernel older than 5.7, or a sandbox, may not have the call. */
pid_t cgroup_fork(int group)
{
    struct clone_args args = { .flags = CLONE_INTO_CGROUP,
                               .exit_signal = SIGCHLD,
                               .cgroup = (unsigned)group };
    long              pid = -1;

    if (group >= 0)
        pid = syscall(SYS_clone3, &args, sizeof args);
    if (pid >= 0)
        return (pid_t)pid;
    pid = fork();
    if (pid == 0 && group >= 0)
        write_file(group, "cgroup.procs", "0");
    return (pid_t)pid;
}

void cgroup_kill(int group)
{
    write_file(group, "cgroup.kill", "1");
}

/* Processes that are forked meanwhile are found in the next round. */
void cgroup_empty(int group)
{
    for (int round = 0; group >= 0 && round < 100; round++) {
        int   procs = openat(group, "cgroup.procs", O_RDONLY | O_CLOEXEC), pid, moved = 0;
        FILE *file = procs >= 0 ? fdopen(procs, "r") : NULL;
        if (file == NULL)
            return;
        for (; fscanf(file, "%d", &pid) == 1; moved++) {
            char text[16];
            snprintf(text, sizeof text, "%d", pid);
            write_file(group, "../cgroup.procs", text);
        }
        fclose(file);
        if (moved == 0)
            return;
    }
}

#define SWEEP_MAX   32 /* groups at a time: a guardian has more to do */
#define SWEEP_DEPTH 8  /* a run in a run in a run... */

static void sweep(int folder, int depth);

/* An inner run whose guardian was killed with the tree has left its group in this one. */
static int remove_group(int folder, const char *name, int depth)
{
    int r = unlinkat(folder, name, AT_REMOVEDIR);

    if (r == 0 || errno != EBUSY || depth == 0)
        return r;
    sweep(open_group(folder, name), depth - 1);
    return unlinkat(folder, name, AT_REMOVEDIR);
}

/* The pid in the name spares us opening most groups.  It may belong to another
 * namespace, so the lock decides: the guardian keeps its group locked as long as it
 * lives. */
static bool is_abandoned(int folder, const char *name)
{
    int  pid, group;
    bool abandoned;

    if (sscanf(name, "holdfast-%d", &pid) != 1 || kill(pid, 0) == 0 || errno != ESRCH ||
        (group = open_group(folder, name)) < 0)
        return false;
    abandoned = flock(group, LOCK_EX | LOCK_NB) == 0;
    close(group);
    return abandoned;
}

/* Remove the groups in a folder whose guardians are dead, and close it; -1 is fine.  One
 * that is still in use cannot be removed. */
static void sweep(int folder, int depth)
{
    struct dirent *entry;
    DIR           *dir = folder >= 0 ? fdopendir(folder) : NULL;

    if (dir == NULL) {
        if (folder >= 0)
            close(folder);
        return;
    }
    for (int swept = 0; swept < SWEEP_MAX && (entry = readdir(dir)) != NULL;) {
        if (is_abandoned(folder, entry->d_name)) {
            remove_group(folder, entry->d_name, depth);
            swept++;
        }
    }
    closedir(dir);
}

/* If both holdfast and its guardian were killed, their group is still there. */
void cgroup_sweep(int group)
{
    if (group >= 0)
        sweep(open_group(group, ".."), SWEEP_DEPTH);
}

void cgroup_drop(int group, const struct cgroup_name *name)
{
    int own;

    if (group < 0)
        return;
    own = open_group(group, "..");
    close(group);
    if (own < 0)
        return;
    /* The kernel counts dead processes for a moment after they were reaped. */
    for (int i = 0; i < 20; i++) {
        if (remove_group(own, name->text, SWEEP_DEPTH) == 0 || errno != EBUSY)
            break;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    close(own);
}
