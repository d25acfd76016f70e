/* system.c - the machine's store: a group's, in a folder that root keeps.
 *
 *     /var/lib/holdfast   root:GROUP 0750   members make, replace and remove nothing here
 *     its files           root:GROUP 0660
 *     locks.db-wake       root:GROUP 2770   members make their FIFOs here
 *
 * Root uses these files as well.  In a folder where members may rename things, a member
 * could have root open a file of his choice, in the moment between the look at a file and
 * its opening.  Here he cannot.
 *
 * For the same reason a client makes no file of it, not even root's: all are made once, by
 * who was told to (HF_INIT).  Other users would have a store of their own otherwise, or
 * none, depending on who came first.  But log and shared memory are removed by any other
 * program of root's that closes the database as the last one; a client of root's has SQLite
 * make them again, as the database is.
 */
#include "store/sqlite/files.h"

#include "base/clock.h"
#include "base/home.h"
#include "holdfast.h"
#include "store/store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLDER_MODE 0750
#define REMEDY      "sudo holdfast init --system"

#define UNFINISHED_LIMIT 60 /* seconds; to make a file takes less than one */

bool hf_sq_system_is_at(const char *path, const struct stat *folder)
{
    const char *name = strrchr(path, '/');
    struct stat st;
    char        home[] = HF_SYSTEM_FILE;
    char       *last = strrchr(home, '/');

    assert(name != NULL && last != NULL);
    if (strcmp(name, last) != 0)
        return false;
    *last = '\0';
    return stat(home, &st) == 0 && st.st_ino == folder->st_ino &&
           st.st_dev == folder->st_dev;
}

/* ---- Using it ------------------------------------------------------------------- */

static int say_missing(const char *path, char *errmsg)
{
    snprintf(errmsg, HF_ERRMSG_MAX,
             "the store for all users of this machine is not there: %.120s is missing; "
             "make it by `%s`",
             path, REMEDY);
    return HF_ENOTFOUND;
}

static int say_wrong(const char *path, char *errmsg)
{
    snprintf(errmsg, HF_ERRMSG_MAX,
             "%.120s has not the owner or mode that the store of this machine must have; "
             "put that right by `%s`",
             path, REMEDY);
    return HF_EDENIED;
}

static int say_outside(const struct hf_sq_files *files, gid_t group, char *errmsg)
{
    struct passwd entry, *found = NULL;
    char          room[4096], name[64], user[64];

    snprintf(user, sizeof user, "USER");
    if (getpwuid_r(geteuid(), &entry, room, sizeof room, &found) == 0 && found != NULL)
        snprintf(user, sizeof user, "%.60s", found->pw_name);
    hf_sq_group_name(group, name);
    snprintf(errmsg, HF_ERRMSG_MAX,
             "%.60s is shared by group %.32s, which you are not in: `sudo usermod -aG "
             "%.32s %.32s`, and then log in again",
             files->folder, name, name, user);
    return HF_EDENIED;
}

static bool is_kept(const struct stat *st)
{
    return S_ISDIR(st->st_mode) && st->st_uid == 0 && (st->st_mode & 0777) == FOLDER_MODE;
}

/* All of it was made beforehand.  Whether to trust a file is asked later, as with every
 * store; here we only see that nothing has to be made. */
static int find_all(const struct hf_sq_files *files, char *errmsg)
{
    const char *const all[] = { files->db, files->live, files->wake, files->wal,
                                files->shm };
    size_t            count = sizeof all / sizeof *all;
    struct stat       st;

    for (size_t i = 0; i < count; i++) {
        bool again = geteuid() == 0 && i >= count - 2; /* it may be made again */
        if (lstat(all[i], &st) == 0) {
            if (st.st_uid != 0)
                return say_wrong(all[i], errmsg);
        } else if (errno != ENOENT) {
            return hf_sq_files_fault(errno, "find", all[i], errmsg);
        } else if (!again) {
            return say_missing(all[i], errmsg);
        }
    }
    return 0;
}

static int say_other_group(const struct hf_sq_files *files, gid_t group, char *errmsg)
{
    char has[64], wanted[64];

    snprintf(errmsg, HF_ERRMSG_MAX,
             "%.60s is of group %.32s, and not of group %.32s; it was left as it is. "
             "While nobody uses it, `sudo chgrp -R` changes that",
             files->folder, hf_sq_group_name(group, has),
             hf_sq_group_name(files->group, wanted));
    return HF_EDENIED;
}

int hf_sq_system_trust(struct hf_sq_files *files, const struct stat *st, char *errmsg)
{
    struct stat db;

    assert(files->system);
    if (st == NULL)
        return say_missing(files->folder, errmsg);
    if (!is_kept(st)) {
        bool empty = lstat(files->db, &db) < 0 && errno == ENOENT;
        return empty ? say_missing(files->db, errmsg) : say_wrong(files->folder, errmsg);
    }
    if (!hf_sq_group_has_us(st->st_gid))
        return say_outside(files, st->st_gid, errmsg);
    if (files->group_given && files->group != st->st_gid)
        return say_other_group(files, st->st_gid, errmsg);
    files->shared = true;
    files->group = st->st_gid;
    return files->init ? 0 : find_all(files, errmsg);
}

/* ---- Making it ------------------------------------------------------------------ */

/* A store that is there keeps its group.  Else it gets the one that was named, or the
 * usual one. */
static int choose_group(struct hf_sq_files *files, char *errmsg)
{
    struct stat st;

    bool shared = lstat(files->db, &st) == 0 && (st.st_mode & 0060) == 0060;
    if (shared && files->group_given && files->group != st.st_gid)
        return say_other_group(files, st.st_gid, errmsg);
    if (!shared && !files->group_given)
        return hf_sq_files_share(files, HF_SYSTEM_GROUP, errmsg);
    if (shared)
        files->group = st.st_gid;
    return 0;
}

/* Give what is there owner, group and mode.  By its path: nobody but root can put another
 * thing in its place. */
static int put_right(const struct hf_sq_files *files, const char *path, mode_t type,
                     mode_t mode, char *errmsg)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : hf_sq_files_fault(errno, "find", path, errmsg);
    if ((st.st_mode & S_IFMT) != type || (type == S_IFREG && st.st_nlink != 1)) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "%.120s is something else than it should be; "
                 "move it away",
                 path);
        return HF_EDENIED;
    }
    if (st.st_uid == 0 && st.st_gid == files->group && (st.st_mode & 07777) == mode)
        return 0;
    if (lchown(path, 0, files->group) < 0 || chmod(path, mode) < 0)
        return hf_sq_files_fault(errno, "change", path, errmsg);
    return 0;
}

/* Remove what an init left that was killed: a file that has its own name as well, or
 * that is too old to be of one at work. */
static void remove_unfinished(const struct hf_sq_files *files)
{
    const char    *name = strrchr(files->db, '/') + 1;
    DIR           *folder = opendir(files->folder);
    struct dirent *entry;
    struct stat    st;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, name, strlen(name)) != 0 ||
            strstr(entry->d_name, HF_SQ_EARLY) == NULL ||
            fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        bool is_folder = S_ISDIR(st.st_mode);
        bool is_named = !is_folder && st.st_nlink > 1;
        if (is_named || st.st_mtime < hf_wall_us() / 1000000 - UNFINISHED_LIMIT)
            unlinkat(dirfd(folder), entry->d_name, is_folder ? AT_REMOVEDIR : 0);
    }
    if (folder != NULL)
        closedir(folder);
}

int hf_sq_system_prepare(struct hf_sq_files *files, char *errmsg)
{
    const char *const plain[] = { files->db, files->wal, files->shm, files->live };

    assert(files->system && files->init);
    if (geteuid() != 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "only root makes the store of this machine: `%s`",
                 REMEDY);
        return HF_EDENIED;
    }
    int r = choose_group(files, errmsg);
    if (r == 0 && mkdir(files->folder, 0700) < 0 && errno != EEXIST)
        r = hf_sq_files_fault(errno, "make the folder", files->folder, errmsg);
    if (r == 0) /* first: from here on members can rename nothing in it */
        r = put_right(files, files->folder, S_IFDIR, FOLDER_MODE, errmsg);
    if (r == 0)
        remove_unfinished(files);
    for (size_t i = 0; r == 0 && i < sizeof plain / sizeof *plain; i++)
        r = put_right(files, plain[i], S_IFREG, 0660, errmsg);
    return r < 0 ? r : put_right(files, files->wake, S_IFDIR, S_ISGID | 0770, errmsg);
}
