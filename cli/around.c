/* around.c - see around.h. */
#include "around.h"

#include "guard.h"
#include "tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GENERATIONS_MAX 1000 /* a tree that changes while we look may have a circle */

/* Is `word` one of its arguments?  A process of another container may have the same host
 * name and pid as one around us, but hardly the same command. */
static bool has_argument(pid_t pid, const char *word)
{
    char   path[64], *argument = NULL;
    size_t room = 0;
    bool   found = false;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (!found && getdelim(&argument, &room, '\0', file) > 0)
        found = strcmp(argument, word) == 0;
    free(argument);
    fclose(file);
    return found;
}

/* The run whose guardian has the parent `pid`: that may be the outer guardian. */
static pid_t holder_above(pid_t pid)
{
    char  name[16] = "";
    pid_t parent = tree_parent(pid, name);

    return strcmp(name, GUARD_OUTER_NAME) == 0 ? parent : pid;
}

bool around_us(const char *name, pid_t pid)
{
    pid_t at = getppid();

    for (int i = 0; at > 0 && i < GENERATIONS_MAX; i++) {
        char  own[16] = "";
        pid_t parent = tree_parent(at, own);
        pid_t holder = strcmp(own, GUARD_NAME) == 0 ? holder_above(parent) : 0;
        if (holder > 0 && (pid == 0 || pid == holder) && has_argument(holder, name))
            return true;
        at = parent;
    }
    return false;
}
