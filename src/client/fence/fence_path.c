/* fence_path.c - which paths can be fenced, and who may use the files beside them. */
#include "client/fence/fence.h"

#include "base/volume.h"
#include "holdfast.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

int hf_fence_fault(const struct hf_fence *fence, int error, const char *what,
                   const char *name)
{
    static const struct {
        int error;
        int code;
    } codes[] = {
        { EACCES, HF_EDENIED },      { EPERM, HF_EDENIED },    { EROFS, HF_EDENIED },
        { ELOOP, HF_EDENIED },       { ENOENT, HF_ENOTFOUND }, { ENOTDIR, HF_ENOTFOUND },
        { ENOSPC, HF_EFULL },        { EDQUOT, HF_EFULL },     { EFBIG, HF_EFULL },
        { ENAMETOOLONG, HF_EINVAL }, { ENOMEM, HF_ENOMEM },
    };

    snprintf(fence->errmsg, HF_FENCE_MESSAGE, "cannot %s %.100s, to fence %.140s: %s",
             what, name, fence->path,
             error == ELOOP ? "it is a symbolic link" : strerror(error));
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].error == error)
            return codes[i].code;
    return HF_ESTORE;
}

int hf_fence_refuse(const struct hf_fence *fence, int code, const char *why)
{
    snprintf(fence->errmsg, HF_FENCE_MESSAGE, "%.160s %s", fence->path, why);
    return code;
}

/* Split `path` into the folder, which the caller frees, and the last name. */
static int split(struct hf_fence *fence, char **ret)
{
    size_t length = strlen(fence->path);

    while (length > 1 && fence->path[length - 1] == '/')
        length--;
    char *folder = strndup(fence->path, length);
    if (folder == NULL)
        return hf_fence_fault(fence, ENOMEM, "use", "its name");
    char *slash = strrchr(folder, '/');
    char *last = slash != NULL ? slash + 1 : folder;
    int   size = snprintf(fence->name, sizeof fence->name, "%s", last);
    bool  fits =
        snprintf(fence->lock, sizeof fence->lock, "%s.fence.lock", last) <= NAME_MAX;

    snprintf(fence->mark, sizeof fence->mark, "%.*s.fence", size, fence->name);
    snprintf(fence->fresh, sizeof fence->fresh, "%.*s.fence.new", size, fence->name);
    if (!fits || *last == '\0' || strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        free(folder);
        return hf_fence_refuse(fence, HF_EINVAL,
                               fits ? "does not end in the name of a file or folder"
                                    : "is too long: PATH.fence.lock must be possible");
    }
    if (slash == NULL) {
        folder[0] = '.'; /* it has room for a letter at least */
        slash = folder + 1;
    } else if (slash == folder) {
        slash++;
    }
    *slash = '\0';
    *ret = folder;
    return 0;
}

/* All that use PATH must see the same fence; on a network file system those on other
 * machines may not. */
static int check_volume(const struct hf_fence *fence)
{
    struct statfs fs;
    char          why[120];

    if (fstatfs(fence->folder, &fs) < 0)
        return hf_fence_fault(fence, errno, "look at the folder of", fence->name);
    const char *unsafe = hf_unsafe_volume((unsigned long)fs.f_type);
    if (unsafe == NULL)
        return 0;
    snprintf(why, sizeof why,
             "is on %s, where other machines may not see the fence; use a local disk",
             unsafe);
    return hf_fence_refuse(fence, HF_EUNSUPPORTED, why);
}

/* Is something mounted at that very path?  Linux before 5.8 does not say. */
static bool is_mounted(const struct hf_fence *fence)
{
    struct statx stx;

    return statx(fence->folder, fence->name, AT_SYMLINK_NOFOLLOW, 0, &stx) == 0 &&
           (stx.stx_attributes & stx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* With another name for the same file, one would find other files beside it. */
static int check_names(const struct hf_fence *fence, const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return hf_fence_refuse(fence, HF_EDENIED,
                               "is a symbolic link; name the file that it leads to");
    if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
        return hf_fence_refuse(fence, HF_EDENIED, "is neither a file nor a folder");
    if (S_ISREG(st->st_mode) && st->st_nlink > 1)
        return hf_fence_refuse(fence, HF_EDENIED,
                               "has more than one name (hard links): a program that "
                               "uses another one would not see the fence");
    if (is_mounted(fence))
        return hf_fence_refuse(fence, HF_EDENIED,
                               "is mounted by itself, without the files of the fence "
                               "beside it; mount its folder, or fence a folder in it");
    return 0;
}

/* Those who may write there may use the fence, and nobody else: the right to read the
 * lock file would be enough to lock it. */
static void let_writers_in(struct hf_fence *fence, mode_t mode, gid_t group)
{
    mode_t writers = mode & 0222;

    fence->mode = 0600 | writers | writers << 1;
    fence->group = group;
}

/* It need not exist: the first holder may be the one to create it. */
static int look_at_path(struct hf_fence *fence)
{
    struct stat st;

    if (fstatat(fence->folder, fence->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        let_writers_in(fence, st.st_mode, st.st_gid);
        return check_names(fence, &st);
    }
    if (errno != ENOENT || fstat(fence->folder, &st) < 0)
        return hf_fence_fault(fence, errno, "look at", fence->name);
    let_writers_in(fence, st.st_mode & ~(mode_t)0002, st.st_gid);
    return 0;
}

int hf_fence_init(struct hf_fence *fence, const char *path, char *errmsg)
{
    char *folder = NULL;

    *fence = (struct hf_fence){
        .path = path, .errmsg = errmsg, .folder = -1, .group = (gid_t)-1
    };
    int r = split(fence, &folder);
    if (r < 0)
        return r;
    fence->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fence->folder < 0)
        r = hf_fence_fault(fence, errno, "open the folder", folder);
    free(folder);
    if (r == 0)
        r = check_volume(fence);
    if (r == 0)
        r = look_at_path(fence);
    if (r < 0)
        hf_fence_finish(fence);
    return r;
}

void hf_fence_finish(struct hf_fence *fence)
{
    if (fence->folder >= 0)
        close(fence->folder);
    fence->folder = -1;
}

void hf_fence_dress(const struct hf_fence *fence, int fd)
{
    struct stat st;
    mode_t      mode = fence->mode;

    if (fstat(fd, &st) < 0 || st.st_uid != geteuid())
        return;
    /* Its present group must not get the rights of another. */
    if (fence->group != (gid_t)-1 && st.st_gid != fence->group &&
        fchown(fd, (uid_t)-1, fence->group) < 0)
        mode &= ~(mode_t)0070;
    if ((st.st_mode & 07777) != mode)
        (void)!fchmod(fd, mode);
}
