/* culprit.c - see culprit.h.
 *
 * The kernel lists the locks on files, with the process that took each:
 *
 *     1: FLOCK  ADVISORY  WRITE 4242 fe:00:1234 0 EOF
 *     2: POSIX  ADVISORY  WRITE 4243 fe:00:1235 120 120
 *
 * A process in another container is not seen.
 */
#include "store/sqlite/culprit.h"

#include "base/fork.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define WRITING \
    120 /* the byte of the shared memory that is locked by who writes: wal.c */

/* The process that has a lock on the file at `path`, for writing, from `start` on; 0: none
 * that can be seen. */
static long find_locker(const char *path, const char *kind, unsigned long long start)
{
    struct stat st;
    char        line[256];
    long        found = 0;

    hf_low_take();
    FILE *locks = stat(path, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
    hf_low_give();
    while (locks != NULL && found == 0 && fgets(line, sizeof line, locks) != NULL) {
        char               is[8], what[8];
        unsigned           major_, minor_;
        unsigned long long inode, from;
        long               pid;
        if (sscanf(line, "%*d: %7s %*s %7s %ld %x:%x:%llu %llu", is, what, &pid, &major_,
                   &minor_, &inode, &from) == 7 &&
            strcmp(is, kind) == 0 && strcmp(what, "WRITE") == 0 && inode == st.st_ino &&
            major_ == major(st.st_dev) && minor_ == minor(st.st_dev) && from == start &&
            pid > 0)
            found = pid;
    }
    if (locks != NULL)
        fclose(locks);
    return found;
}

void hf_sq_name_culprit(const struct hf_sq_files *files, char ret[HF_SQ_CULPRIT])
{
    struct passwd entry, *found = NULL;
    struct stat   st;
    char          process[32], room[4096];

    ret[0] = '\0';
    long pid = find_locker(files->live, "FLOCK", 0);
    if (pid == 0)
        pid = find_locker(files->shm, "POSIX", WRITING);
    snprintf(process, sizeof process, "/proc/%ld", pid);
    if (pid == 0 || stat(process, &st) < 0)
        return;
    if (getpwuid_r(st.st_uid, &entry, room, sizeof room, &found) == 0 && found != NULL)
        snprintf(ret, HF_SQ_CULPRIT, " (pid %ld, %.32s)", pid, found->pw_name);
    else
        snprintf(ret, HF_SQ_CULPRIT, " (pid %ld, uid %u)", pid, st.st_uid);
}
