/* stopped.c - is a holder stopped, as by SIGSTOP or Ctrl-Z?  Of this host that can be seen.
 *
 * In a file it holds the lock until it goes on; elsewhere until its lease ends.
 */
#include "place.h"

#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLACK_US (10 * 1000000) /* clocks of a server and of this host may differ */

/* The state of a process, and when it was started, microseconds since 1970; 0: there is none.
 * See proc(5): the name may be anything, up to the last ")". */
static char read_state(int64_t pid, int64_t *started)
{
    char  path[64], text[1024] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return 0;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);

    const char *word = strrchr(text, ')');
    char        state = word != NULL && word[1] == ' ' ? word[2] : '\0';
    for (int field = 3; word != NULL && field <= 22; field++)
        word = strchr(word + 1, ' ');
    int64_t ticks = word != NULL ? strtoll(word, NULL, 10) : 0;
    *started =
        clock_wall_us() - clock_boot_ns() / 1000 + ticks * 1000000 / sysconf(_SC_CLK_TCK);
    return state;
}

/* One that was started later has only the same number. */
bool place_is_stopped(const struct hf_entry *entry)
{
    char    host[256] = "";
    int64_t started;

    gethostname(host, sizeof host - 1);
    if (!entry->held || entry->pid <= 0 || strcmp(entry->host, host) != 0)
        return false;
    return read_state(entry->pid, &started) == 'T' && started < entry->since + SLACK_US;
}
