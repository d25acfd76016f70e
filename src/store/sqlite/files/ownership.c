/* ownership.c - the ownership check: may we use files with this owner, group and mode?
 *
 * In a folder where other users can make files (/tmp), another user may have made any of
 * ours first.  SQLite would use such a log or index without asking, so we check all files
 * before it opens the database, and once more afterwards.
 */
#include "store/sqlite/files/files.h"

#include "base/clock.h"
#include "base/grow.h"
#include "holdfast.h"
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define GROUP_ROOM 4096 /* for an entry of a group, to begin with */

static int refuse(const char *path, char *errmsg, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(const char *path, char *errmsg, const char *format, ...)
{
    va_list args;
    int     n = snprintf(errmsg, HF_ERRMSG_MAX, "%.120s ", path);

    va_start(args, format);
    vsnprintf(errmsg + n, HF_ERRMSG_MAX - (size_t)n, format, args);
    va_end(args);
    return HF_EDENIED;
}

/* ---- Groups ------------------------------------------------------------------ */

/* Find a group by its name or, if that is NULL, by its number; NULL: there is none.
 * It may have any number of members.  `room`: to be freed. */
static const struct group *find_entry(const char *name, gid_t number, struct group *entry,
                                      char **room)
{
    struct group *found = NULL;
    size_t        size = 0;
    int           error = ERANGE;

    *room = NULL;
    while (error == ERANGE) {
        char *more = hf_grow(*room, &size, size + GROUP_ROOM, 1);
        if (more == NULL)
            return NULL;
        *room = more;
        error = name != NULL ? getgrnam_r(name, entry, *room, size, &found)
                             : getgrgid_r(number, entry, *room, size, &found);
    }
    return error == 0 ? found : NULL;
}

const char *hf_sq_group_name(gid_t group, char ret[64])
{
    struct group        entry;
    char               *room;
    const struct group *found = find_entry(NULL, group, &entry, &room);

    if (found != NULL)
        snprintf(ret, 64, "%s", found->gr_name);
    else
        snprintf(ret, 64, "%lu", (unsigned long)group);
    free(room);
    return ret;
}

/* Find a group by name, or by number.  False: there is none. */
static bool find_group(const char *name, gid_t *ret)
{
    struct group        entry;
    char               *room, *end;
    const struct group *found = find_entry(name, 0, &entry, &room);

    if (found != NULL)
        *ret = found->gr_gid;
    free(room);
    if (found != NULL)
        return true;
    errno = 0;
    unsigned long number = strtoul(name, &end, 10);
    *ret = (gid_t)number;
    return name[0] >= '0' && name[0] <= '9' && *end == '\0' && errno == 0 &&
           *ret == number && *ret != (gid_t)-1;
}

bool hf_sq_group_has_us(gid_t group)
{
    int    count = getgroups(0, NULL);
    gid_t *list = count > 0 ? calloc((size_t)count, sizeof *list) : NULL;
    bool   found = geteuid() == 0 || getegid() == group;

    if (list != NULL)
        count = getgroups(count, list);
    for (int i = 0; list != NULL && i < count; i++)
        found = found || list[i] == group;
    free(list);
    return found;
}

int hf_sq_files_share(struct hf_sq_files *files, const char *group, char *errmsg)
{
    bool found = find_group(group, &files->group);

    if (!found && files->system) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "there is no group \"%.80s\"; make it by `sudo groupadd --system %.80s`",
                 group, group);
        return HF_ENOTFOUND;
    }
    if (!found) {
        snprintf(errmsg, HF_ERRMSG_MAX, "store URL: there is no group \"%.80s\"", group);
        return HF_EINVAL;
    }
    if (!hf_sq_group_has_us(files->group)) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "store URL: you are not in group %.80s; have yourself added, and log in "
                 "again",
                 group);
        return HF_EDENIED;
    }
    files->group_given = files->shared = true;
    return 0;
}

/* ---- Folders ----------------------------------------------------------------- */

static bool is_group_writable(mode_t mode)
{
    return (mode & S_IWGRP) != 0 && (mode & S_ISVTX) == 0;
}

/* Is the store in this folder a shared one? */
static bool has_shared_store(const struct hf_sq_files *files, gid_t group)
{
    struct stat st;

    return lstat(files->db, &st) == 0 && S_ISREG(st.st_mode) && st.st_gid == group &&
           (st.st_mode & 0060) == 0060;
}

static int check_group_folder(struct hf_sq_files *files, const struct stat *st,
                              char *errmsg)
{
    char name[64], other[64];

    hf_sq_group_name(st->st_gid, name);
    if ((st->st_mode & S_ISGID) != 0 && !hf_sq_group_has_us(st->st_gid))
        return refuse(files->folder, errmsg,
                      "is shared by group %s, which you are not in; have yourself added, "
                      "and log in again",
                      name);
    if (files->group_given && st->st_gid != files->group)
        return refuse(files->folder, errmsg, "is of group %s, and not of group %s", name,
                      hf_sq_group_name(files->group, other));
    if (!files->group_given && !has_shared_store(files, st->st_gid))
        return refuse(
            files->folder, errmsg,
            "can be written to by its group; chmod go-w it, or add ?group=%s to the "
            "URL to share the locks with that group",
            name);
    if ((st->st_mode & S_ISGID) == 0)
        return refuse(files->folder, errmsg,
                      "does not pass its group on to new files; chmod 2770 it");
    files->shared = true;
    files->group = st->st_gid;
    return 0;
}

int hf_sq_owner_check_folder(struct hf_sq_files *files, const struct stat *st,
                             char *errmsg)
{
    char name[64];

    if ((st->st_mode & S_IWOTH) != 0 && (st->st_mode & S_ISVTX) == 0)
        return refuse(files->folder, errmsg,
                      "can be written to by others; chmod go-w it");
    if (is_group_writable(st->st_mode))
        return check_group_folder(files, st, errmsg);
    if (files->group_given)
        return refuse(
            files->folder, errmsg,
            "is not a group's folder; name one that does not exist yet, or chgrp %s "
            "and chmod 2770 it",
            hf_sq_group_name(files->group, name));
    files->shared = false;
    return 0;
}

int hf_sq_owner_check_wake(const struct hf_sq_files *files, const struct stat *st,
                           char *errmsg)
{
    bool fine = S_ISDIR(st->st_mode) && (st->st_mode & S_IWOTH) == 0;

    if (files->shared)
        fine = fine && st->st_gid == files->group && (st->st_mode & S_ISGID) != 0 &&
               is_group_writable(st->st_mode);
    else
        fine = fine && (st->st_uid == 0 || st->st_uid == geteuid()) &&
               (st->st_mode & S_IWGRP) == 0;
    if (fine)
        return 0;
    return refuse(files->wake, errmsg,
                  files->shared
                      ? "is not a folder of the group; remove it"
                      : "is not a folder that only this user can write to; remove it");
}

int hf_sq_files_open_wake(const struct hf_sq_files *files)
{
    char        why[HF_ERRMSG_MAX];
    struct stat st;

    int folder =
        open(files->wake, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
    if (folder < 0)
        return -1;
    if (fstat(folder, &st) == 0 && hf_sq_owner_check_wake(files, &st, why) == 0)
        return folder;
    close(folder);
    errno = EPERM;
    return -1;
}

int hf_sq_files_open_new(int folder, const char *path, mode_t type, int flags)
{
    struct stat st;

    assert(type == S_IFDIR || type == S_IFIFO);
    flags |= O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = openat(folder, path, flags);
    if (fd < 0 && errno == EACCES && /* by the umask; root needs no mode */
        fchmodat(folder, path, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(folder, path, flags);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & S_IFMT) == type)
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

/* ---- Plain files ------------------------------------------------------------- */

int hf_sq_owner_check_file(const struct hf_sq_files *files, const char *path,
                           const struct stat *st, char *errmsg)
{
    char name[64];

    if (!S_ISREG(st->st_mode))
        return refuse(path, errmsg, "is not a plain file; name another");
    if (files->shared) {
        if (st->st_gid == files->group && (st->st_mode & 0662) == 0660)
            return 0;
        return refuse(path, errmsg,
                      "cannot be read and written by group %s alone; remove it",
                      hf_sq_group_name(files->group, name));
    }
    if (st->st_uid == 0 || st->st_uid == geteuid())
        return 0;
    return refuse(path, errmsg, "belongs to another user; name a file of your own");
}

/* ---- All of them ------------------------------------------------------------- */

/* Is something mounted at that very path?  Linux before 5.8 does not say. */
static bool is_mounted(const char *path)
{
    struct statx stx;

    return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &stx) == 0 &&
           (stx.stx_attributes & stx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* The files of a store are beside each other.  A client that used another name of one
 * of them would find other files there, and not see our locks. */
static int check_names(const char *path, const struct stat *st, char *errmsg)
{
    if (st->st_nlink > 1)
        return refuse(
            path, errmsg,
            "has more than one name (hard links): clients that use another one would not "
            "see these locks; remove the others");
    if (is_mounted(path))
        return refuse(path, errmsg,
                      "is mounted by itself, without the files that belong beside it; "
                      "mount its folder instead");
    return 0;
}

/* SQLite makes its files with the mode of the umask, and sets their mode a moment
 * later.  Our files may have two names for a moment: name_file() in files.c. */
#define UNFINISHED 200 /* ms at most */

static int check_file(const struct hf_sq_files *files, const char *path, char *errmsg)
{
    struct timespec nap = { .tv_nsec = HF_MS };
    struct stat     st;

    for (int naps = 0;; naps++) {
        if (lstat(path, &st) < 0)
            return hf_sq_files_fault(errno, "find", path, errmsg);
        int r = hf_sq_owner_check_file(files, path, &st, errmsg);
        if (r == 0)
            r = check_names(path, &st, errmsg);
        bool new = S_ISREG(st.st_mode) && st.st_size == 0 &&
                   (st.st_nlink > 1 || (files->shared && st.st_gid == files->group));
        if (r == 0 || !new || naps == UNFINISHED)
            return r;
        nanosleep(&nap, NULL);
    }
}

/* SQLite would not use a journal (vfs.c).  But the change that it belongs to is
 * incomplete. */
static int check_journal(const struct hf_sq_files *files, char *errmsg)
{
    struct stat st;

    if (lstat(files->journal, &st) < 0)
        return errno == ENOENT ? 0
                               : hf_sq_files_fault(errno, "find", files->journal, errmsg);
    snprintf(errmsg, HF_ERRMSG_MAX,
             "%.120s exists, which Holdfast never makes and did not use; end the program "
             "that changes the database, or move it away",
             files->journal);
    return HF_EDENIED;
}

/* All files are checked even if there is no database: SQLite would use them with a new
 * one. */
int hf_sq_files_check(const struct hf_sq_files *files, char *errmsg)
{
    const char *const others[] = { files->wal, files->shm, files->live };
    struct stat       st;

    int r = check_file(files, files->db, errmsg);
    if (r < 0 && r != HF_ENOTFOUND)
        return r;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char why[HF_ERRMSG_MAX];
        int  other = check_file(files, others[i], why);
        if (other < 0 && other != HF_ENOTFOUND) {
            snprintf(errmsg, HF_ERRMSG_MAX, "%s", why);
            return other;
        }
    }
    if (check_journal(files, errmsg) < 0)
        return HF_EDENIED;
    if (lstat(files->wake, &st) == 0 && hf_sq_owner_check_wake(files, &st, errmsg) < 0)
        return HF_EDENIED;
    return r;
}
