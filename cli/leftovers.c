/* leftovers.c - see leftovers.h. */
#include "leftovers.h"

#include "clock.h"
#include "guard.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TITLE GUARD_NAME ": the command ended at "

/* Where our command line stands, its size, and that with the environment behind it. */
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

/* Whoever executes the will still needs the environment: PGPASSWORD, PGHOST, HOME.  False:
 * no memory. */
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
            return false; /* what was copied stays unused, until we exit */
    environ = copy;
    return true;
}

/* Text that does not fit our command line overwrites what stands behind it, where the
 * environment was. */
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

bool leftovers_find(const struct hf_entry *entry, struct leftovers_found *ret)
{
    char  host[256] = "";
    pid_t pid = (pid_t)entry->pid;

    gethostname(host, sizeof host - 1);
    if (!entry->held || pid <= 0 || strcmp(entry->host, host) != 0)
        return false;
    pid_t outer = tree_child(pid, GUARD_OUTER_NAME);
    pid_t guardian = tree_child(outer > 0 ? outer : pid, GUARD_NAME);
    if (guardian <= 0 || !read_title(guardian, &ret->since))
        return false;
    ret->count = tree_members(guardian, ret->member);
    return ret->count > 0;
}
