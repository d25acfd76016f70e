/* paths.c - the names of a store's files, and error messages about them. */
#include "store/sqlite/files/files.h"

#include "base/home.h"
#include "holdfast.h"
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const int hf_sq_layout = 4 + HF_LAYOUT_BUMP;

/* ---- Names ------------------------------------------------------------------- */

void hf_sq_folder_of(const char *path, char ret[HF_SQ_PATH])
{
    const char *slash = strrchr(path, '/');

    assert(slash != NULL); /* paths are absolute */
    snprintf(ret, HF_SQ_PATH, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* SQLite accepts 512 bytes with "-journal" added.  While we make files, their names have
 * "-live-new-" and 16 digits added; a file system accepts 255. */
#define PATH_LONGEST 500
#define NAME_LONGEST 229

bool hf_sq_path_fits(const char *db)
{
    const char *slash = strrchr(db, '/');

    assert(slash != NULL);
    return strlen(db) <= PATH_LONGEST && strlen(slash + 1) <= NAME_LONGEST;
}

static void put_beside(char ret[HF_SQ_PATH], const char *path, const char *ending)
{
    snprintf(ret, HF_SQ_PATH, "%.*s%s", PATH_LONGEST, path, ending);
}

int hf_sq_files_init(struct hf_sq_files *files, const char *path, bool force,
                     char *errmsg)
{
    size_t length = strlen(path);
    char   here[PATH_MAX] = "";

    *files = (struct hf_sq_files){ .force = force };
    if (length == 0 || path[length - 1] == '/') {
        snprintf(
            errmsg, HF_ERRMSG_MAX,
            "store URL: \"sqlite:%.120s\" names no file; write sqlite:/path/to/locks.db",
            path);
        return HF_EINVAL;
    }
    if (path[0] != '/' && getcwd(here, sizeof here) == NULL)
        return hf_sq_files_fault(errno, "find the working directory, for", path, errmsg);
    int need = snprintf(files->db, sizeof files->db, "%s%s%s", here,
                        path[0] != '/' ? "/" : "", path);
    if (need >= (int)sizeof files->db || !hf_sq_path_fits(files->db))
        return hf_sq_files_fault(ENAMETOOLONG, "use", path, errmsg);
    files->system = strcmp(files->db, HF_SYSTEM_FILE) == 0;
    hf_sq_folder_of(files->db, files->folder);
    put_beside(files->wal, files->db, "-wal");
    put_beside(files->shm, files->db, "-shm");
    put_beside(files->journal, files->db, "-journal");
    put_beside(files->live, files->db, "-live");
    put_beside(files->wake, files->db, "-wake");
    return 0;
}

/* ---- Faults ------------------------------------------------------------------ */

int hf_sq_files_fault(int error, const char *what, const char *path, char *errmsg)
{
    char why[96];

    if (error == EFBIG)
        snprintf(why, sizeof why,
                 "the limit for the size of files (ulimit -f) is reached");
    else if (error == ENAMETOOLONG)
        snprintf(why, sizeof why, "a path may have %d bytes at most, a file name %d",
                 PATH_LONGEST, NAME_LONGEST);
    else
        snprintf(why, sizeof why, "%s", strerror(error));
    snprintf(errmsg, HF_ERRMSG_MAX, "cannot %s %.140s: %s", what, path, why);
    switch (error) {
    case ENAMETOOLONG:
        return HF_EINVAL;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP: /* a symbolic link where a file should be */
        return HF_EDENIED;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
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

int hf_sq_files_other_layout(const char *db, uint64_t layout, char *errmsg)
{
    unsigned long long theirs = layout;

    if (layout > (uint64_t)hf_sq_layout)
        snprintf(
            errmsg, HF_ERRMSG_MAX,
            "%.140s was made by a newer Holdfast (layout %llu, this one has %d); use "
            "that one",
            db, theirs, hf_sq_layout);
    else
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "%.100s-live is in use by an older Holdfast (layout %llu, this one has "
                 "%d); end the processes that `fuser -v` lists for that file",
                 db, theirs, hf_sq_layout);
    return HF_EUNSUPPORTED;
}
