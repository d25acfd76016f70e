/* system.c - the machine's store: a group's, in a folder that only root may change.
 *
 *     /var/lib/holdfast   root:GROUP 0750   members make, replace and remove nothing here
 *     its files           root:GROUP 0660
 *     locks.db-wake       root:GROUP 2770   members make their FIFOs here
 *
 * Root uses these files as well.  In a folder where members may rename files, a member
 * could replace a file between root's check and root's opening it.  Here members cannot.
 *
 * For the same reason no client makes any of these files, not even root's: HF_INIT makes
 * all of them once.  Otherwise it would depend on the first user whether others can use
 * the store.  But another program of root's that closes the database as the last one
 * removes log and index; a client of root's then has SQLite make them again.
 */
#include "store/sqlite/files/files.h"

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

#define UNFINISHED_LIMIT 60 /* seconds; making a file takes less than one */

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

/* ---- Using it ---------------------------------------------------------------- */

static int fail_missing(const char *path, char *errmsg)
{
    snprintf(errmsg, HF_ERRMSG_MAX,
             "there is no store for all users of this machine: %.120s is missing; "
             "make it by `%s`",
             path, REMEDY);
    return HF_ENOTFOUND;
}

static int fail_wrong_mode(const char *path, char *errmsg)
{
    snprintf(errmsg, HF_ERRMSG_MAX,
             "%.120s does not have the owner or mode that the store of this machine must "
             "have; correct that by `%s`",
             path, REMEDY);
    return HF_EDENIED;
}

static int fail_not_member(const struct hf_sq_files *files, gid_t group, char *errmsg)
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

static bool is_roots_folder(const struct stat *st)
{
    return S_ISDIR(st->st_mode) && st->st_uid == 0 && (st->st_mode & 0777) == FOLDER_MODE;
}

/* Check that all files exist, and that root owns them.  The full ownership check comes
 * later, as with every store. */
static int check_complete(const struct hf_sq_files *files, char *errmsg)
{
    const char *const all[] = { files->db, files->live, files->wake, files->wal,
                                files->shm };
    size_t            count = sizeof all / sizeof *all;
    struct stat       st;

    for (size_t i = 0; i < count; i++) {
        bool may_miss = geteuid() == 0 && i >= count - 2; /* SQLite makes them again */
        if (lstat(all[i], &st) == 0) {
            if (st.st_uid != 0)
                return fail_wrong_mode(all[i], errmsg);
        } else if (errno != ENOENT) {
            return hf_sq_files_fault(errno, "find", all[i], errmsg);
        } else if (!may_miss) {
            return fail_missing(all[i], errmsg);
        }
    }
    return 0;
}

static int fail_other_group(const struct hf_sq_files *files, gid_t group, char *errmsg)
{
    char has[64], wanted[64];

    snprintf(errmsg, HF_ERRMSG_MAX,
             "%.60s is of group %.32s, and not of group %.32s; nothing was changed. "
             "While nobody uses it, `sudo chgrp -R` changes that",
             files->folder, hf_sq_group_name(group, has),
             hf_sq_group_name(files->group, wanted));
    return HF_EDENIED;
}

int hf_sq_system_check_folder(struct hf_sq_files *files, const struct stat *st,
                              char *errmsg)
{
    struct stat db;

    assert(files->system);
    if (st == NULL)
        return fail_missing(files->folder, errmsg);
    if (!is_roots_folder(st)) {
        bool empty = lstat(files->db, &db) < 0 && errno == ENOENT;
        return empty ? fail_missing(files->db, errmsg)
                     : fail_wrong_mode(files->folder, errmsg);
    }
    if (!hf_sq_group_has_us(st->st_gid))
        return fail_not_member(files, st->st_gid, errmsg);
    if (files->group_given && files->group != st->st_gid)
        return fail_other_group(files, st->st_gid, errmsg);
    files->shared = true;
    files->group = st->st_gid;
    return files->init ? 0 : check_complete(files, errmsg);
}

/* ---- Making it --------------------------------------------------------------- */

/* An existing store keeps its group.  A new one gets the group of the URL, or the
 * default. */
static int choose_group(struct hf_sq_files *files, char *errmsg)
{
    struct stat st;

    bool shared = lstat(files->db, &st) == 0 && (st.st_mode & 0060) == 0060;
    if (shared && files->group_given && files->group != st.st_gid)
        return fail_other_group(files, st.st_gid, errmsg);
    if (!shared && !files->group_given)
        return hf_sq_files_share(files, HF_SYSTEM_GROUP, errmsg);
    if (shared)
        files->group = st.st_gid;
    return 0;
}

/* Set owner, group and mode of a file or folder that exists.  By its path: only root
 * can replace it. */
static int correct_owner(const struct hf_sq_files *files, const char *path, mode_t type,
                         mode_t mode, char *errmsg)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : hf_sq_files_fault(errno, "find", path, errmsg);
    if ((st.st_mode & S_IFMT) != type || (type == S_IFREG && st.st_nlink != 1)) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "%.120s is not the kind of file that belongs there; move it away", path);
        return HF_EDENIED;
    }
    if (st.st_uid == 0 && st.st_gid == files->group && (st.st_mode & 07777) == mode)
        return 0;
    if (lchown(path, 0, files->group) < 0 || chmod(path, mode) < 0)
        return hf_sq_files_fault(errno, "change", path, errmsg);
    return 0;
}

/* Remove files that a killed init left: such a file has its final name as well, or is
 * too old to belong to one that is running. */
static void remove_unfinished(const struct hf_sq_files *files)
{
    const char    *name = strrchr(files->db, '/') + 1;
    DIR           *folder = opendir(files->folder);
    struct dirent *entry;
    struct stat    st;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, name, strlen(name)) != 0 ||
            strstr(entry->d_name, HF_SQ_UNFINISHED) == NULL ||
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
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "only root can make the store of this machine: `%s`", REMEDY);
        return HF_EDENIED;
    }
    int r = choose_group(files, errmsg);
    if (r == 0 && mkdir(files->folder, 0700) < 0 && errno != EEXIST)
        r = hf_sq_files_fault(errno, "make the folder", files->folder, errmsg);
    if (r == 0) /* first: from here on members can rename nothing in the folder */
        r = correct_owner(files, files->folder, S_IFDIR, FOLDER_MODE, errmsg);
    if (r == 0)
        remove_unfinished(files);
    for (size_t i = 0; r == 0 && i < sizeof plain / sizeof *plain; i++)
        r = correct_owner(files, plain[i], S_IFREG, 0660, errmsg);
    return r < 0 ? r : correct_owner(files, files->wake, S_IFDIR, S_ISGID | 0770, errmsg);
}
