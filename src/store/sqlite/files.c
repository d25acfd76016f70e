/* files.c - see files.h. */
#include "store/sqlite/files.h"

#include "base/random.h"
#include "holdfast.h"
#include "store/sqlite/volume.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Names ------------------------------------------------------------------ */

static char *absolute(const char *path)
{
    char *full = NULL;

    if (path[0] == '/')
        return strdup(path);
    char *here = getcwd(NULL, 0);
    if (here == NULL || asprintf(&full, "%s/%s", here, path) < 0)
        full = NULL;
    free(here);
    return full;
}

static char *beside(const char *path, const char *ending)
{
    char *name;

    return asprintf(&name, "%s%s", path, ending) < 0 ? NULL : name;
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

int hf_sq_files_init(struct hf_sq_files *files, const char *path, bool force,
                     char *errmsg)
{
    size_t length = strlen(path);

    *files = (struct hf_sq_files){ .force = force };
    if (length == 0 || path[length - 1] == '/') {
        snprintf(
            errmsg, HF_ERRMSG_MAX,
            "store URL: \"sqlite:%.120s\" names no file; write sqlite:/path/to/locks.db",
            path);
        return HF_EINVAL;
    }
    files->db = absolute(path);
    if (files->db == NULL)
        goto fail;
    files->folder = folder_of(files->db);
    files->wal = beside(files->db, "-wal");
    files->shm = beside(files->db, "-shm");
    files->live = beside(files->db, "-live");
    files->wake = beside(files->db, "-wake");
    if (files->folder != NULL && files->wal != NULL && files->shm != NULL &&
        files->live != NULL && files->wake != NULL)
        return 0;
fail:
    hf_sq_files_finish(files);
    snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
    return HF_ENOMEM;
}

void hf_sq_files_finish(struct hf_sq_files *files)
{
    free(files->folder);
    free(files->db);
    free(files->wal);
    free(files->shm);
    free(files->live);
    free(files->wake);
    *files = (struct hf_sq_files){ 0 };
}

/* ---- Faults ----------------------------------------------------------------- */

int hf_sq_files_fault(int error, const char *what, const char *path, char *errmsg)
{
    snprintf(errmsg, HF_ERRMSG_MAX, "cannot %s %.140s: %s", what, path, strerror(error));
    switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP: /* a symbolic link where a file should be */
        return HF_EDENIED;
    case ENOSPC:
    case EDQUOT:
        return HF_EFULL;
    case ENOENT:
    case ENOTDIR:
        return HF_ENOTFOUND;
    case ENOMEM:
        return HF_ENOMEM;
    default:
        return HF_ESTORE;
    }
}

static int refuse(const char *path, const char *why, char *errmsg)
{
    snprintf(errmsg, HF_ERRMSG_MAX, "%.140s %s", path, why);
    return HF_EDENIED;
}

static bool trusted(uid_t owner)
{
    return owner == 0 || owner == geteuid();
}

ino_t hf_sq_files_inode(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 ? st.st_ino : 0;
}

/* ---- Folders ---------------------------------------------------------------- */

static bool below(const char *path, const char *top)
{
    size_t length = top != NULL ? strlen(top) : 0;

    return length > 1 && strncmp(path, top, length) == 0 &&
           (path[length] == '/' || path[length] == '\0');
}

/* The default store's folders are made as far as they are missing.  Elsewhere
 * only the last one is: a mistyped path should not grow a tree. */
static bool is_users(const char *folder)
{
    return below(folder, getenv("XDG_STATE_HOME")) || below(folder, getenv("HOME"));
}

static bool may_make(const char *folder)
{
    char *parent = folder_of(folder);
    bool  there = parent != NULL && access(parent, F_OK) == 0;

    free(parent);
    return there || is_users(folder);
}

int hf_sq_files_check_folder(const struct hf_sq_files *files, char *errmsg)
{
    struct stat st;

    if (stat(files->folder, &st) < 0) {
        int error = errno;
        if (error == ENOENT && may_make(files->folder))
            return 1;
        return hf_sq_files_fault(error, "find the folder", files->folder, errmsg);
    }
    if (!S_ISDIR(st.st_mode))
        return hf_sq_files_fault(ENOTDIR, "use", files->folder, errmsg);
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0)
        return refuse(files->folder, "may be written by others; chmod go-w it", errmsg);
    return files->force ? 0 : hf_sq_volume_check(files->folder, errmsg);
}

/* 0700 whatever the umask. */
static int make_dir(const char *path)
{
    return mkdir(path, 0700) < 0 ? -1 : chmod(path, 0700);
}

static int make_parents(const char *folder)
{
    char *path = strdup(folder);
    int   r = path != NULL ? 0 : -1;

    for (char *at = path; r == 0 && (at = strchr(at + 1, '/')) != NULL;) {
        *at = '\0';
        if (access(path, F_OK) < 0 && make_dir(path) < 0 && errno != EEXIST)
            r = -1;
        *at = '/';
    }
    free(path);
    return r;
}

int hf_sq_files_make_folder(const struct hf_sq_files *files, char *errmsg)
{
    const char *folder = files->folder;

    if (is_users(folder) && make_parents(folder) < 0)
        return hf_sq_files_fault(errno, "make the folders of", folder, errmsg);
    if (make_dir(folder) < 0 && errno != EEXIST)
        return hf_sq_files_fault(errno, "make the folder", folder, errmsg);
    return 0;
}

int hf_sq_files_make_wake(const struct hf_sq_files *files, char *errmsg)
{
    struct stat st;

    if (make_dir(files->wake) == 0)
        return 0;
    if (errno != EEXIST)
        return hf_sq_files_fault(errno, "make the folder", files->wake, errmsg);
    if (lstat(files->wake, &st) < 0)
        return hf_sq_files_fault(errno, "use the folder", files->wake, errmsg);
    if (!S_ISDIR(st.st_mode) || !trusted(st.st_uid) || (st.st_mode & 022) != 0)
        return refuse(files->wake, "is not a folder of ours alone; remove it", errmsg);
    return 0;
}

/* ---- Plain files ------------------------------------------------------------ */

static int check(const struct stat *st, const char *path, char *errmsg)
{
    if (!S_ISREG(st->st_mode))
        return refuse(path, "is not a plain file; name another", errmsg);
    if (!trusted(st->st_uid))
        return refuse(path, "belongs to another user; name a file of your own", errmsg);
    return 0;
}

int hf_sq_files_check(const char *path, char *errmsg)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return hf_sq_files_fault(errno, "find", path, errmsg);
    return check(&st, path, errmsg);
}

bool hf_sq_files_shared(const struct hf_sq_files *files)
{
    struct stat st;

    return lstat(files->db, &st) == 0 && (st.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

int hf_sq_files_open(const char *path, bool make, char *errmsg, int *ret)
{
    struct stat st;
    int         flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

    int fd = open(path, flags);
    if (fd < 0 && errno == ENOENT && make) {
        fd = open(path, flags | O_CREAT | O_EXCL, 0600);
        if (fd >= 0)
            (void)fchmod(fd, 0600);
        else if (errno == EEXIST) /* somebody was quicker */
            fd = open(path, flags);
    }
    if (fd < 0)
        return hf_sq_files_fault(errno, "open", path, errmsg);

    int r = fstat(fd, &st) < 0 ? hf_sq_files_fault(errno, "look at", path, errmsg)
                               : check(&st, path, errmsg);
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret = fd;
    return 0;
}

/* Not for the database itself, for the same reason as below. */
void hf_sq_files_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return;
    (void)fdatasync(fd);
    close(fd);
}

/* Made under another name and then linked: to close a descriptor of the
 * database itself would take away the locks that SQLite has on it elsewhere in
 * this process. */
int hf_sq_files_make_db(const struct hf_sq_files *files, char *errmsg)
{
    char *name = NULL;
    int   fd = -1;

    if (asprintf(&name, "%s-new-%016llx", files->db, (unsigned long long)hf_random()) < 0)
        return hf_sq_files_fault(ENOMEM, "make", files->db, errmsg);
    int r = hf_sq_files_open(name, true, errmsg, &fd);
    if (r < 0)
        goto out;
    close(fd);
    if (link(name, files->db) < 0 && errno != EEXIST)
        r = hf_sq_files_fault(errno, "make", files->db, errmsg);
    unlink(name);
out:
    free(name);
    return r;
}
