/* tree.c - see tree.h. */
#include "tree.h"

#include <assert.h>
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

enum kin { UNKNOWN, STRANGER, OURS };

struct process {
    pid_t              pid;
    pid_t              parent;
    char               state;
    char               name[16];
    unsigned long long start; /* tells it from a later one with the same pid */
    enum kin           kin;
};

struct census {
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

    /* The name in parentheses may itself contain any of this. */
    char *name = strchr(text, '('), *rest = strrchr(text, ')');
    int   parent;
    *ret = (struct process){ .pid = pid };
    if (name == NULL || rest == NULL ||
        sscanf(rest + 1,
               " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
               "%*d %*d %llu",
               &ret->state, &parent, &ret->start) != 3)
        return false;
    ret->parent = parent;
    snprintf(ret->name, sizeof ret->name, "%.*s", (int)(rest - name - 1), name + 1);
    return true;
}

static bool add(struct census *census, const struct process *process)
{
    if (census->count == census->room) {
        size_t          room = census->room == 0 ? 1024 : census->room * 2;
        struct process *more = realloc(census->at, room * sizeof *more);
        if (more == NULL)
            return false;
        census->at = more;
        census->room = room;
    }
    census->at[census->count++] = *process;
    return true;
}

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct process *)a)->pid, y = ((const struct process *)b)->pid;

    return (x > y) - (x < y);
}

static bool take_census(struct census *ret)
{
    struct dirent *entry;
    DIR           *proc = opendir("/proc");

    if (proc == NULL)
        return false;
    while ((entry = readdir(proc)) != NULL) {
        struct process process;
        int            pid = atoi(entry->d_name);

        /* A process that ended meanwhile is no loss. */
        if (pid > 0 && read_process(pid, &process) && !add(ret, &process))
            break; /* out of memory: better some of them than none */
    }
    closedir(proc);
    if (ret->count > 0)
        qsort(ret->at, ret->count, sizeof *ret->at, by_pid);
    return true;
}

static struct process *find(const struct census *census, pid_t pid)
{
    struct process key = { .pid = pid };

    if (census->count == 0)
        return NULL;
    return bsearch(&key, census->at, census->count, sizeof key, by_pid);
}

/* Walk up until somebody is known.  A snapshot of a changing tree may even
 * contain a circle, hence the limit. */
static enum kin judge(const struct census *census, pid_t root, struct process *process,
                      int limit)
{
    if (process->kin != UNKNOWN)
        return process->kin;

    struct process *parent = find(census, process->parent);
    if (process->parent == root)
        process->kin = OURS;
    else if (parent == NULL || limit == 0)
        process->kin = STRANGER;
    else
        process->kin = judge(census, root, parent, limit - 1);
    return process->kin;
}

/* By pidfd, so that the signal cannot hit a stranger that got the pid since. */
static void send_signal(const struct process *process, int signal)
{
    struct process again;
    int            fd = (int)syscall(SYS_pidfd_open, process->pid, 0);

    if (fd < 0)
        return;
    if (read_process(process->pid, &again) && again.start == process->start)
        syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
    close(fd);
}

/* The next that is alive and below `root`, from *at on. */
static struct process *next_below(struct census *census, pid_t root, size_t *at)
{
    while (*at < census->count) {
        struct process *process = &census->at[(*at)++];
        if (judge(census, root, process, 1000) == OURS && process->state != 'Z')
            return process;
    }
    return NULL;
}

int tree_signal(pid_t root, int signal)
{
    struct census   census = { 0 };
    struct process *process;
    size_t          at = 0;
    int             count = 0;

    if (!take_census(&census))
        return -1;
    for (; (process = next_below(&census, root, &at)) != NULL; count++)
        if (signal != 0)
            send_signal(process, signal);
    free(census.at);
    return count;
}

/* Somebody else's is named with its user: that is why it cannot be ended. */
static int name_process(char *out, size_t size, const struct process *process)
{
    char        path[64], user[32] = "";
    struct stat folder;

    snprintf(path, sizeof path, "/proc/%d", (int)process->pid);
    if (stat(path, &folder) == 0 && folder.st_uid != geteuid())
        snprintf(user, sizeof user, ", uid %u", (unsigned)folder.st_uid);
    return snprintf(out, size, "%s (pid %d%s)", process->name, (int)process->pid, user);
}

int tree_names(pid_t root, char out[TREE_NAMES_MAX])
{
    struct census   census = { 0 };
    struct process *process;
    size_t          at = 0, length = 0;
    int             count = 0, more = 0;

    out[0] = '\0';
    if (!take_census(&census))
        return -1;
    for (; (process = next_below(&census, root, &at)) != NULL; count++) {
        char   name[64];
        size_t n = (size_t)name_process(name, sizeof name, process);
        if (length + n + sizeof ", and 1234567 more" > TREE_NAMES_MAX)
            more++;
        else
            length += (size_t)snprintf(out + length, TREE_NAMES_MAX - length, "%s%s",
                                       length > 0 ? ", " : "", name);
    }
    if (more > 0)
        snprintf(out + length, TREE_NAMES_MAX - length, " and %d more", more);
    free(census.at);
    return count;
}

/* False once there is nobody left to wait for. */
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
    long            longest = 64000000;

    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    while (reap_all(child, status)) {
        tree_signal(getpid(), SIGKILL);
        if (clock_boot_ns() >= tell_at) {
            tell_at = INT64_MAX;
            longest = 512000000;
            if (stuck != NULL)
                stuck->tell(stuck->data);
        }
        /* One that is dying in the kernel may take its time: ask less often,
         * but go on asking, since it may have forked while we looked. */
        if (sigtimedwait(&chld, NULL, &patience) < 0 && errno == EAGAIN &&
            patience.tv_nsec < longest)
            patience.tv_nsec *= 2;
    }
}
