/* origin.c - see origin.h. */
#include "base/origin.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that is mapped at the address of this function.  dladdr(3) would return
 * argv[0] for a program, and a relative path if the loader got one. */
static bool find_file(char ret[PATH_MAX])
{
    uintptr_t here = (uintptr_t)&find_file, from, to;
    char      line[PATH_MAX + 128];
    bool      found = false;
    int       at;
    FILE     *maps = fopen("/proc/self/maps", "re");

    if (maps == NULL)
        return false;
    while (!found && fgets(line, sizeof line, maps) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        found = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &from, &to,
                       &at) == 2 &&
                from <= here && here < to && line[at] == '/' &&
                strlen(line + at) < PATH_MAX;
    }
    fclose(maps);
    if (found)
        strcpy(ret, line + at);
    return found;
}

bool hf_origin_find(const char *folder, const char *program, char ret[PATH_MAX])
{
    char        path[PATH_MAX];
    struct stat ours, its;

    if (!find_file(path))
        return false;
    uid_t owner =
        stat(path, &ours) == 0 ? ours.st_uid : 0; /* it may have been replaced */
    char  *name = strrchr(path, '/') + 1;
    size_t room = sizeof path - (size_t)(name - path);
    if ((size_t)snprintf(name, room, "%s/%s", folder, program) >= room ||
        stat(path, &its) < 0 || !S_ISREG(its.st_mode) || access(path, X_OK) < 0)
        return false;
    if (its.st_uid != 0 && its.st_uid != geteuid() && its.st_uid != owner)
        return false;
    strcpy(ret, path);
    return true;
}
