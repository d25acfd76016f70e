/* tree.c - see tree.h. */
#include "guard/tree.h"

#include "proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum kin { UNKNOWN, NOT_OURS, OURS };

struct process {
    pid_t              pid;
    pid_t              parent;
    pid_t              group;
    char               state;
    char               name[16];
    unsigned long long start; /* tells it from a later one with the same pid */
    enum kin           kin;
};

struct snapshot {
    struct process *at; /* sorted by pid */
    size_t          count;
    size_t          room;
};

static bool read_process(pid_t pid, struct process *ret)
{
    char path[64], text[512];

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';

    /* The name in parentheses may contain blanks and parentheses itself. */
    char *name = strchr(text, '('), *rest = strrchr(text, ')');
    int   parent, group;
    *ret = (struct process){ .pid = pid };
    if (name == NULL || rest == NULL ||
        sscanf(rest + 1,
               " %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
               "%*d %*d %llu",
               &ret->state, &parent, &group, &ret->start) != 4)
        return false;
    ret->parent = parent;
    ret->group = group;
    snprintf(ret->name, sizeof ret->name, "%.*s", (int)(rest - name - 1), name + 1);
    return true;
}

static bool add_process(struct snapshot *snapshot, const struct process *process)
{
    if (snapshot->count == snapshot->room) {
        size_t          room = snapshot->room == 0 ? 1024 : snapshot->room * 2;
        struct process *more = realloc(snapshot->at, room * sizeof *more);
        if (more == NULL)
            return false;
        snapshot->at = more;
        snapshot->room = room;
    }
    snapshot->at[snapshot->count++] = *process;
    return true;
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;

    return (x > y) - (x < y);
}

static bool read_snapshot(struct snapshot *ret)
{
    struct dirent *entry;
    DIR           *proc = proc_is_ours() ? opendir("/proc") : NULL;

    if (proc == NULL)
        return false;
    while ((entry = readdir(proc)) != NULL) {
        struct process process;
        int            pid = atoi(entry->d_name);

        /* A process that ended meanwhile is no loss. */
        if (pid > 0 && read_process(pid, &process) && !add_process(ret, &process))
            break; /* out of memory: better some of them than none */
    }
    closedir(proc);
    if (ret->count > 0)
        qsort(ret->at, ret->count, sizeof *ret->at, by_pid);
    return true;
}

static struct process *find_process(const struct snapshot *snapshot, pid_t pid)
{
    struct process key = { .pid = pid };

    if (snapshot->count == 0)
        return NULL;
    return bsearch(&key, snapshot->at, snapshot->count, sizeof key, by_pid);
}

/* Walk up to a process that is known.  A snapshot of a changing tree may contain a
 * circle, hence the limit. */
static enum kin judge_process(const struct snapshot *snapshot, pid_t root,
                              struct process *process, int limit)
{
    if (process->kin != UNKNOWN)
        return process->kin;

    struct process *parent = find_process(snapshot, process->parent);
    if (process->parent == root)
        process->kin = OURS;
    else if (parent == NULL || limit == 0)
        process->kin = NOT_OURS;
    else
        process->kin = judge_process(snapshot, root, parent, limit - 1);
    return process->kin;
}

/* A child of ours keeps its pid until we reap it.  All others get the signal by pidfd, so
 * that it cannot hit another process with the same pid.  Linux before 5.3 has none, and
 * sandboxes forbid it; a tree is ended all the same, since we inherit the orphans. */
static void send_signal(const struct process *process, int signal)
{
    struct process again;

    if (process->parent == getpid()) {
        kill(process->pid, signal);
        return;
    }
    int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (fd < 0)
        return;
    if (read_process(process->pid, &again) && again.start == process->start)
        syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
    close(fd);
}

/* The next that is alive and below `root`, from *at on. */
static struct process *next_below(struct snapshot *snapshot, pid_t root, size_t *at)
{
    while (*at < snapshot->count) {
        struct process *process = &snapshot->at[(*at)++];
        if (judge_process(snapshot, root, process, 1000) == OURS && process->state != 'Z')
            return process;
    }
    return NULL;
}

int tree_signal(pid_t root, pid_t except, int signal)
{
    struct snapshot snapshot = { 0 };
    struct process *process;
    size_t          at = 0;
    int             count = 0;

    if (!read_snapshot(&snapshot))
        return -1;
    for (; (process = next_below(&snapshot, root, &at)) != NULL; count++)
        if (process->group != except)
            send_signal(process, signal);
    free(snapshot.at);
    return count;
}

static uid_t user_of(pid_t pid)
{
    char        path[64];
    struct stat folder;

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return stat(path, &folder) == 0 ? folder.st_uid : geteuid();
}

struct snapshot *snapshot_take(void)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);

    if (snapshot != NULL && !read_snapshot(snapshot)) {
        free(snapshot);
        return NULL;
    }
    return snapshot;
}

void snapshot_free(struct snapshot *snapshot)
{
    if (snapshot != NULL)
        free(snapshot->at);
    free(snapshot);
}

int snapshot_members(struct snapshot *snapshot, pid_t root,
                     struct tree_member out[TREE_MEMBERS_MAX])
{
    struct process *process;
    size_t          at = 0;
    int             count = 0;

    for (size_t i = 0; i < snapshot->count; i++)
        snapshot->at[i].kin = UNKNOWN; /* an earlier call may have had another root */
    for (; (process = next_below(snapshot, root, &at)) != NULL; count++) {
        if (count >= TREE_MEMBERS_MAX)
            continue;
        out[count] = (struct tree_member){ process->pid, user_of(process->pid), "" };
        memcpy(out[count].name, process->name, sizeof out[count].name);
    }
    return count;
}

int tree_members(pid_t root, struct tree_member out[TREE_MEMBERS_MAX])
{
    struct snapshot snapshot = { 0 };

    if (!read_snapshot(&snapshot))
        return -1;
    int count = snapshot_members(&snapshot, root, out);
    free(snapshot.at);
    return count;
}

/* A process of another user is shown with its uid: that is why it cannot be ended. */
const char *tree_names(char out[TREE_NAMES_MAX], const struct tree_member *member,
                       int count)
{
    int shown = count < TREE_MEMBERS_MAX ? count : TREE_MEMBERS_MAX, n = 0;

    snprintf(out, TREE_NAMES_MAX, "%s",
             count < 0 ? "processes that /proc does not show" : "");
    for (int i = 0; i < shown; i++) {
        char user[24] = "";
        if (member[i].uid != geteuid())
            snprintf(user, sizeof user, ", uid %u", (unsigned)member[i].uid);
        n += snprintf(out + n, TREE_NAMES_MAX - (size_t)n, "%s%s (pid %d%s)",
                      i > 0 ? ", " : "", member[i].name, (int)member[i].pid, user);
    }
    if (count > shown)
        snprintf(out + n, TREE_NAMES_MAX - (size_t)n, " and %d more", count - shown);
    return out;
}

pid_t tree_child(pid_t pid, const char *name)
{
    struct process process;
    char           path[64];
    int            child;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = proc_is_ours() ? fopen(path, "re") : NULL;
    if (file == NULL)
        return 0;
    while (fscanf(file, "%d", &child) == 1)
        if (read_process(child, &process) && strcmp(process.name, name) == 0) {
            fclose(file);
            return child;
        }
    fclose(file);
    return 0;
}

pid_t tree_parent(pid_t pid, char name[16])
{
    struct process process;

    if (pid <= 0 || !proc_is_ours() || !read_process(pid, &process))
        return 0;
    memcpy(name, process.name, sizeof process.name);
    return process.parent;
}

/* ---- Ending a tree ------------------------------------------------------------ */

/* False once there is no child left to wait for. */
static bool reap_all(pid_t child, int *status)
{
    pid_t pid;
    int   s;

    while ((pid = waitpid(-1, &s, WNOHANG)) > 0)
        if (pid == child)
            *status = s;
    return pid == 0;
}

void tree_end(pid_t child, int *status, const struct tree_stuck *stuck)
{
    sigset_t        chld;
    struct timespec patience = { .tv_nsec = 1000000 };
    int64_t         tell_at = clock_boot_ns() + TREE_STUCK_NS;
    bool            busy = stuck != NULL && stuck->meanwhile != NULL;
    long            longest = TREE_MEANWHILE_NS;

    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    while (reap_all(child, status)) {
        tree_signal(getpid(), 0, SIGKILL);
        if (clock_boot_ns() >= tell_at) {
            tell_at = INT64_MAX;
            longest = busy ? longest : 512000000;
            if (stuck != NULL)
                stuck->tell(stuck->data);
        }
        if (busy)
            stuck->meanwhile(stuck->data);
        /* A process that hangs in the kernel may take long to die: kill less often, but
         * go on, since it may have forked while we looked. */
        if (sigtimedwait(&chld, NULL, &patience) < 0 && errno == EAGAIN &&
            patience.tv_nsec < longest)
            patience.tv_nsec *= 2;
    }
}
