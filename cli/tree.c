/* tree.c - see tree.h. */
#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

static bool add_process(struct census *census, const struct process *process)
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
        if (pid > 0 && read_process(pid, &process) && !add_process(ret, &process))
            break; /* out of memory: better some of them than none */
    }
    closedir(proc);
    if (ret->count > 0)
        qsort(ret->at, ret->count, sizeof *ret->at, by_pid);
    return true;
}

static struct process *find_process(const struct census *census, pid_t pid)
{
    struct process key = { .pid = pid };

    if (census->count == 0)
        return NULL;
    return bsearch(&key, census->at, census->count, sizeof key, by_pid);
}

/* Walk up until somebody is known.  A snapshot of a changing tree may even
 * contain a circle, hence the limit. */
static enum kin judge_process(const struct census *census, pid_t root,
                              struct process *process, int limit)
{
    if (process->kin != UNKNOWN)
        return process->kin;

    struct process *parent = find_process(census, process->parent);
    if (process->parent == root)
        process->kin = OURS;
    else if (parent == NULL || limit == 0)
        process->kin = STRANGER;
    else
        process->kin = judge_process(census, root, parent, limit - 1);
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
        if (judge_process(census, root, process, 1000) == OURS && process->state != 'Z')
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

static uid_t user_of(pid_t pid)
{
    char        path[64];
    struct stat folder;

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return stat(path, &folder) == 0 ? folder.st_uid : geteuid();
}

struct census *census_take(void)
{
    struct census *census = calloc(1, sizeof *census);

    if (census != NULL && !take_census(census)) {
        free(census);
        return NULL;
    }
    return census;
}

void census_free(struct census *census)
{
    if (census != NULL)
        free(census->at);
    free(census);
}

int census_members(struct census *census, pid_t root,
                   struct tree_member out[TREE_MEMBERS_MAX])
{
    struct process *process;
    size_t          at = 0;
    int             count = 0;

    for (size_t i = 0; i < census->count; i++)
        census->at[i].kin = UNKNOWN; /* it may have been asked about another root */
    for (; (process = next_below(census, root, &at)) != NULL; count++) {
        if (count >= TREE_MEMBERS_MAX)
            continue;
        out[count] = (struct tree_member){ process->pid, user_of(process->pid), "" };
        memcpy(out[count].name, process->name, sizeof out[count].name);
    }
    return count;
}

int tree_members(pid_t root, struct tree_member out[TREE_MEMBERS_MAX])
{
    struct census census = { 0 };

    if (!take_census(&census))
        return -1;
    int count = census_members(&census, root, out);
    free(census.at);
    return count;
}

/* Somebody else's is named with its user: that is why it cannot be ended. */
const char *tree_names(char out[TREE_NAMES_MAX], const struct tree_member *member,
                       int count)
{
    int shown = count < TREE_MEMBERS_MAX ? count : TREE_MEMBERS_MAX, n = 0;

    snprintf(out, TREE_NAMES_MAX, "%s", count < 0 ? "processes (/proc is missing)" : "");
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
    FILE *file = fopen(path, "re");
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

    if (pid <= 0 || !read_process(pid, &process))
        return 0;
    memcpy(name, process.name, sizeof process.name);
    return process.parent;
}
