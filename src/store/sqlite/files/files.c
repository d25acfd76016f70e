/* files.c - making and opening the files of a store. */
#include "store/sqlite/files/files.h"

#include "base/fork.h"
#include "base/home.h"
#include "base/random.h"
#include "base/volume.h"
#include "holdfast.h"
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- File systems ------------------------------------------------------------ */

static int check_volume(const char *folder, char *errmsg)
{
    struct statfs fs;

    if (statfs(folder, &fs) < 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "cannot look at %.160s: %s", folder,
                 strerror(errno));
        return HF_ESTORE;
    }
    const char *name = hf_unsafe_volume((unsigned long)fs.f_type);
    if (name == NULL)
        return 0;
    snprintf(errmsg, HF_ERRMSG_MAX,
             "%.120s is on %s, where other machines may not see locks; use a local disk "
             "(?force=1 if only this machine uses it)",
             folder, name);
    return HF_EUNSUPPORTED;
}

/* ---- Folders ----------------------------------------------------------------- */

static bool below(const char *path, const char *top)
{
    size_t length = top != NULL ? strlen(top) : 0;

    return length > 1 && strncmp(path, top, length) == 0 &&
           (path[length] == '/' || path[length] == '\0');
}

static bool has_parent(const char *folder)
{
    char parent[HF_SQ_PATH];

    hf_sq_folder_of(folder, parent);
    return access(parent, F_OK) == 0;
}

/* Below the user's own folders we make all missing ones.  Elsewhere only the last one, and
 * none at the top: a mistyped path, or HOME, should not grow a tree. */
static bool is_below_home(const char *folder)
{
    char *home = hf_home(), *state = hf_state_home();
    bool  has_home = home != NULL && access(home, F_OK) == 0;
    bool  is = (has_home && below(folder, home)) ||
              (below(folder, state) && (home == NULL || !below(state, home)));

    free(home);
    free(state);
    return is;
}

static bool may_make(const struct hf_sq_files *files)
{
    bool top = strrchr(files->folder, '/') == files->folder;

    if (files->group_given)
        return has_parent(files->folder);
    return (has_parent(files->folder) && !top) || is_below_home(files->folder);
}

int hf_sq_files_check_folder(struct hf_sq_files *files, char *errmsg)
{
    struct stat st;

    if (stat(files->folder, &st) < 0) {
        int error = errno;
        if (error == ENOENT && files->system)
            return hf_sq_system_check_folder(files, NULL, errmsg);
        if (error == ENOENT && may_make(files))
            return 1;
        return hf_sq_files_fault(error, "find the folder", files->folder, errmsg);
    }
    if (!S_ISDIR(st.st_mode))
        return hf_sq_files_fault(ENOTDIR, "use", files->folder, errmsg);
    files->system = files->system || hf_sq_system_is_at(files->db, &st);
    int r = files->system ? hf_sq_system_check_folder(files, &st, errmsg)
                          : hf_sq_owner_check_folder(files, &st, errmsg);
    return r < 0 || files->force ? r : check_volume(files->folder, errmsg);
}

/* Whatever the umask is; `group` -1: the default one. */
static int make_own_dir(const char *path, gid_t group, mode_t mode)
{
    assert((mode & 0007) == 0); /* never for other users */
    if (mkdir(path, 0700) < 0)
        return -1;
    int fd = hf_sq_files_open_new(AT_FDCWD, path, S_IFDIR, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return -1;
    int r = group != (gid_t)-1 ? fchown(fd, (uid_t)-1, group) : 0;
    if (r == 0)
        r = fchmod(fd, mode);
    int error = errno;
    close(fd);
    errno = error;
    return r;
}

/* Give a complete folder its name, unless the name is taken: EEXIST.  If the kernel
 * cannot do that in one step, the folder can still replace nothing but an empty
 * folder. */
static int name_dir(const char *unfinished, const char *path)
{
    if (renameat2(AT_FDCWD, unfinished, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL)
        return -1;
    int r = rename(unfinished, path);
    if (r < 0 && (errno == ENOTEMPTY || errno == ENOTDIR))
        errno = EEXIST;
    return r;
}

/* The same for a file.  It has two names for a moment only if there is no other way. */
static int name_file(const char *unfinished, const char *path)
{
    if (renameat2(AT_FDCWD, unfinished, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    return errno == EINVAL ? link(unfinished, path) : -1;
}

/* A name for a file or folder that is not complete yet. */
static void unfinished_name(const char *path, char ret[HF_SQ_PATH])
{
    snprintf(ret, HF_SQ_PATH, "%.510s" HF_SQ_UNFINISHED "%016llx", path,
             (unsigned long long)hf_random());
}

/* A group's folder gets its name when it is complete: no member finds a folder that it
 * may not use yet. */
static int make_dir(const struct hf_sq_files *files, const char *path)
{
    if (!files->shared)
        return make_own_dir(path, (gid_t)-1, 0700);
    char unfinished[HF_SQ_PATH];
    unfinished_name(path, unfinished);
    int r = make_own_dir(unfinished, files->group, S_ISGID | 0770);
    if (r == 0)
        r = name_dir(unfinished, path);
    int error = errno;
    if (r < 0)
        rmdir(unfinished);
    errno = error;
    return r;
}

static int make_parents(const char *folder)
{
    char path[HF_SQ_PATH];

    for (const char *at = folder; (at = strchr(at + 1, '/')) != NULL;) {
        snprintf(path, sizeof path, "%.*s", (int)(at - folder), folder);
        if (access(path, F_OK) < 0 && make_own_dir(path, (gid_t)-1, 0700) < 0 &&
            errno != EEXIST)
            return -1;
    }
    return 0;
}

int hf_sq_files_make_folder(const struct hf_sq_files *files, char *errmsg)
{
    const char *folder = files->folder;

    if (!files->shared && is_below_home(folder) && make_parents(folder) < 0)
        return hf_sq_files_fault(errno, "make the folders of", folder, errmsg);
    if (make_dir(files, folder) == 0 || errno == EEXIST)
        return 0;
    return hf_sq_files_fault(errno, "make the folder", folder, errmsg);
}

int hf_sq_files_make_wake(const struct hf_sq_files *files, char *errmsg)
{
    struct stat st;

    if (access(files->wake, F_OK) < 0 && make_dir(files, files->wake) < 0 &&
        errno != EEXIST)
        return hf_sq_files_fault(errno, "make the folder", files->wake, errmsg);
    if (lstat(files->wake, &st) < 0)
        return hf_sq_files_fault(errno, "use the folder", files->wake, errmsg);
    return hf_sq_owner_check_wake(files, &st, errmsg);
}

/* ---- Plain files ------------------------------------------------------------- */

mode_t hf_sq_files_mode(const struct hf_sq_files *files)
{
    return files->shared ? 0660 : 0600;
}

bool hf_sq_files_shared(const struct hf_sq_files *files)
{
    struct stat st;

    return files->group_given || (lstat(files->db, &st) == 0 && (st.st_mode & 0077) != 0);
}

/* Make an empty file under another name, so that nobody finds it before owner and mode
 * are right.  This also never closes a descriptor of an existing database, which would
 * release the locks that SQLite has on it elsewhere in this process. */
static int make_file(const struct hf_sq_files *files, const char *path, char *errmsg)
{
    int  flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    char unfinished[HF_SQ_PATH];
    int  r = 0;

    unfinished_name(path, unfinished);
    int fd = open(unfinished, flags, 0600);
    if (fd < 0)
        return hf_sq_files_fault(errno, "make", path, errmsg);
    if ((files->shared && fchown(fd, (uid_t)-1, files->group) < 0) ||
        fchmod(fd, hf_sq_files_mode(files)) < 0 ||
        (name_file(unfinished, path) < 0 && errno != EEXIST))
        r = hf_sq_files_fault(errno, "make", path, errmsg);
    close(fd);
    unlink(unfinished); /* if it still exists */
    return r;
}

/* A log and index of a deleted database must go: SQLite would use them with this one. */
int hf_sq_files_make_db(const struct hf_sq_files *files, char *errmsg)
{
    unlink(files->wal);
    unlink(files->shm);
    return make_file(files, files->db, errmsg);
}

/* On a read-only file system it is opened for reading. */
static int open_file(const struct hf_sq_files *files, const char *path, int access,
                     char *errmsg, int *ret)
{
    int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = open(path, access | flags);
    if (fd < 0 && errno == ENOENT) {
        int r = make_file(files, path, errmsg);
        if (r < 0)
            return r;
        fd = open(path, access | flags);
    }
    if (fd < 0 && errno == EROFS)
        fd = open(path, O_RDONLY | flags);
    if (fd < 0)
        return hf_sq_files_fault(errno, "open", path, errmsg);
    *ret = fd;
    return 0;
}

ino_t hf_sq_files_inode(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 ? st.st_ino : 0;
}

/* The owner is checked after forks may go on: to name a group in the message, the
 * system may have to ask a server. */
int hf_sq_files_open(const struct hf_sq_files *files, const char *path, int access,
                     char *errmsg, int *ret)
{
    struct stat st;
    int         fd = -1;

    hf_fork_pause();
    int r = open_file(files, path, access, errmsg, &fd);
    fd = hf_fork_adopt(fd);
    if (r < 0)
        return r;
    if (fd < 0)
        return hf_sq_files_fault(errno, "open", path, errmsg);
    r = fstat(fd, &st) < 0 ? hf_sq_files_fault(errno, "look at", path, errmsg)
                           : hf_sq_owner_check_file(files, path, &st, errmsg);
    if (r == 0) {
        *ret = fd;
        return 0;
    }
    hf_fork_close(fd);
    errno = EPERM;
    return r;
}

/* Not for the database itself, as closing it releases SQLite's locks: see make_file(). */
bool hf_sq_files_sync(const char *path)
{
    hf_low_take();
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    hf_low_give();

    if (fd < 0)
        return false;
    bool done = fdatasync(fd) == 0;
    int  error = errno;
    close(fd);
    errno = error;
    return done;
}
