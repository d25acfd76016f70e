/* leftovers.c - see leftovers.h. */
#include "run/leftovers.h"

#include "clock.h"
#include "guard/guard.h"
#include "text.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The leftovers of one process. */
struct leftovers_seen {
    pid_t                  pid;
    struct leftovers_found found; /* count 0: nothing */
};

#define TITLE GUARD_NAME ": the command ended at "

/* The address of our command line, its size, and its size with the environment behind
 * it. */
static char *find_title(size_t *size, size_t *most)
{
    char      text[2048];
    uintptr_t at[4] = { 0 }; /* begin and end of both, fields 48 to 51 of proc(5) */
    FILE     *file = fopen("/proc/self/stat", "re");

    if (file == NULL)
        return NULL;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';

    char *word = strrchr(text, ')');
    for (int field = 3; word != NULL && field <= 51; field++) {
        word = strchr(word + 1, ' ');
        if (word != NULL && field >= 48)
            at[field - 48] = strtoul(word, NULL, 10);
    }
    if (at[0] == 0 || at[1] <= at[0] || at[2] < at[1] || at[3] < at[2])
        return NULL;
    *size = at[1] - at[0];
    *most = at[3] - at[0];
    return (char *)at[0]; // NOLINT(performance-no-int-to-ptr): the kernel says so
}

/* The guardian still needs the environment to end the session: PGPASSWORD, PGHOST, HOME.
 * False: no memory. */
static bool move_environment(void)
{
    size_t count = 0;

    while (environ[count] != NULL)
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    if (copy == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if ((copy[i] = strdup(environ[i])) == NULL)
            return false; /* what was copied is not used, and freed by our exit */
    environ = copy;
    return true;
}

/* A text that is longer than our command line overwrites what is behind it: the
 * environment, which was moved away. */
void leftovers_announce(void)
{
    char   text[sizeof TITLE + TEXT_TIME_MAX], time[TEXT_TIME_MAX];
    size_t size, most;
    char  *title = find_title(&size, &most);

    if (title == NULL || !move_environment())
        return;
    snprintf(text, sizeof text, TITLE "%s", text_time(time, clock_wall_us()));
    memset(title, 0, size);
    snprintf(title, most, "%s", text);
}

/* False: the guardian `pid` has announced nothing. */
static bool read_title(pid_t pid, int64_t *since)
{
    char  path[64], text[sizeof TITLE + TEXT_TIME_MAX] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);

    struct tm tm = { 0 };
    if (strncmp(text, TITLE, sizeof TITLE - 1) != 0 ||
        strptime(text + sizeof TITLE - 1, "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
        return false;
    *since = (int64_t)timegm(&tm) * 1000000;
    return true;
}

static void look_at(struct leftovers_scan *look, struct leftovers_seen *seen)
{
    pid_t outer = tree_child(seen->pid, GUARD_OUTER_NAME);
    pid_t guardian = tree_child(outer > 0 ? outer : seen->pid, GUARD_NAME);

    if (guardian <= 0 || !read_title(guardian, &seen->found.since))
        return;
    if (look->snapshot == NULL)
        look->snapshot = snapshot_take();
    if (look->snapshot != NULL)
        seen->found.count =
            snapshot_members(look->snapshot, guardian, seen->found.member);
}

static int compare_pids(const void *a, const void *b)
{
    pid_t x = ((const struct leftovers_seen *)a)->pid;
    pid_t y = ((const struct leftovers_seen *)b)->pid;

    return (x > y) - (x < y);
}

/* NULL: no memory. */
static struct leftovers_seen *look_once(struct leftovers_scan *look, pid_t pid)
{
    struct leftovers_seen   key = { .pid = pid };
    struct leftovers_seen **known = tfind(&key, &look->seen, compare_pids);
    if (known != NULL)
        return *known;

    struct leftovers_seen *seen = malloc(sizeof *seen);
    if (seen == NULL)
        return NULL;
    *seen = key;
    if (tsearch(seen, &look->seen, compare_pids) == NULL) {
        free(seen);
        return NULL;
    }
    look_at(look, seen);
    return seen;
}

bool leftovers_find(struct leftovers_scan *look, const struct hf_entry *entry,
                    struct leftovers_found *ret)
{
    char                  host[256] = "";
    struct leftovers_scan own = { 0 };

    gethostname(host, sizeof host - 1);
    if (!entry->held || entry->pid <= 0 || strcmp(entry->host, host) != 0)
        return false;
    struct leftovers_seen *seen =
        look_once(look != NULL ? look : &own, (pid_t)entry->pid);
    bool found = seen != NULL && seen->found.count > 0;
    if (found)
        *ret = seen->found;
    leftovers_forget(&own);
    return found;
}

void leftovers_forget(struct leftovers_scan *look)
{
    tdestroy(look->seen, free);
    snapshot_free(look->snapshot);
    *look = (struct leftovers_scan){ 0 };
}
