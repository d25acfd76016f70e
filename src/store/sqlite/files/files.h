/* files.h - the files of one store: their names, how they are made, who may own them, and
 * how we notice that they were moved.
 *
 * A store belongs to one user: we make its files for their owner alone, and use files
 * only if that user or root owns them, in a folder where no other user can replace them.
 * Or it belongs to a group: then folder and files are the group's (2770, 0660), whichever
 * member made them, and its members trust each other.  The umask does not matter.
 *
 * ?group=NAME decides this when the store is made; later the folder and the database show
 * it.
 *
 * One store is the machine's (system.c): a group's, in a folder that only root may
 * change.
 */
#ifndef HF_SQLITE_FILES_H
#define HF_SQLITE_FILES_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct hf_sq;
struct hf_sq_own;

/* A file or folder that is not complete yet is called PATH-new-NUMBER. */
#define HF_SQ_UNFINISHED "-new-"

/* Room for any of these paths: longer ones are refused. */
#define HF_SQ_PATH 544

/* The version of the on-disk format.  Raise it with every change that another version
 * would not understand, or would misunderstand. */
extern const int hf_sq_layout;

struct hf_sq_files {
    char  folder[HF_SQ_PATH]; /* all absolute */
    char  db[HF_SQ_PATH];
    char  wal[HF_SQ_PATH];
    char  shm[HF_SQ_PATH];
    char  journal[HF_SQ_PATH]; /* must not exist */
    char  live[HF_SQ_PATH];
    char  wake[HF_SQ_PATH]; /* a folder */
    bool  force;            /* accept any file system */
    bool  group_given;      /* ?group= was given */
    bool  shared;           /* it is a group's */
    gid_t group;            /* that one */
    bool  system;           /* it is the machine's */
    bool  init;             /* and we are to make it */
};

/* ---- paths.c ------------------------------------------------------------------------ */

/* `errmsg` here and below: HF_ERRMSG_MAX bytes, written on failure. */
int hf_sq_files_init(struct hf_sq_files *files, const char *path, bool force,
                     char *errmsg);

/* Do SQLite and the file system accept that path with all that is added to it? */
bool hf_sq_path_fits(const char *db);

/* The folder that a path is in. */
void hf_sq_folder_of(const char *path, char ret[HF_SQ_PATH]);

/* HF_EDENIED, HF_EFULL, HF_EINVAL, HF_ENOTFOUND or HF_ESTORE for `error`, and the text
 * "cannot <what> <path>: <why>". */
int hf_sq_files_fault(int error, const char *what, const char *path, char *errmsg);

/* HF_EUNSUPPORTED, and a text: the store has another layout than ours.  An older one
 * is refused only while somebody uses it. */
int hf_sq_files_other_layout(const char *db, uint64_t layout, char *errmsg);

/* ---- files.c ----------------------------------------------------------------- */

/* Check the folder, which shows whose store it is: 1 if it does not exist but we may
 * make it. */
int hf_sq_files_check_folder(struct hf_sq_files *files, char *errmsg);
int hf_sq_files_make_folder(const struct hf_sq_files *files, char *errmsg);

/* Make the database, empty.  Under the write lock, and only if there is none. */
int hf_sq_files_make_db(const struct hf_sq_files *files, char *errmsg);

/* Open a file of ours with O_RDONLY or O_RDWR, and check its owner; make it if it does
 * not exist.  On a read-only file system it is opened for reading.  Close it by
 * hf_fork_close(). */
int hf_sq_files_open(const struct hf_sq_files *files, const char *path, int access,
                     char *errmsg, int *ret);

/* Make the folder of the FIFOs unless it exists; the mode of FIFOs and files. */
int    hf_sq_files_make_wake(const struct hf_sq_files *files, char *errmsg);
mode_t hf_sq_files_mode(const struct hf_sq_files *files);

/* fdatasync a file.  False with errno. */
bool hf_sq_files_sync(const char *path);

/* Can users other than its owner read the database?  False if there is none. */
bool hf_sq_files_shared(const struct hf_sq_files *files);

/* The inode that a path leads to; 0: none. */
ino_t hf_sq_files_inode(const char *path);

/* ---- ownership.c ------------------------------------------------------------- */

/* Take ?group=NAME. */
int hf_sq_files_share(struct hf_sq_files *files, const char *group, char *errmsg);

/* May we use it, by its owner, group and mode: the folder of the store (this sets
 * files->shared and files->group), a plain file, the folder of the FIFOs? */
int hf_sq_owner_check_folder(struct hf_sq_files *files, const struct stat *st,
                             char *errmsg);
int hf_sq_owner_check_file(const struct hf_sq_files *files, const char *path,
                           const struct stat *st, char *errmsg);
int hf_sq_owner_check_wake(const struct hf_sq_files *files, const struct stat *st,
                           char *errmsg);

/* Check all files that exist.  HF_ENOTFOUND: the database does not. */
int hf_sq_files_check(const struct hf_sq_files *files, char *errmsg);

/* Check the folder of the FIFOs, and open it.  -1 with errno. */
int hf_sq_files_open_wake(const struct hf_sq_files *files);

/* Open a file that we have just made in `folder` (AT_FDCWD: by its path).  Other users
 * may have replaced it since, so it is opened only if it is ours and of that type
 * (S_IFDIR, S_IFIFO), and mode and group are then set by the descriptor.  -1 with
 * errno. */
int hf_sq_files_open_new(int folder, const char *path, mode_t type, int flags);

/* Is this process in the group?  Root may do everything in every group. */
bool hf_sq_group_has_us(gid_t group);

/* The name of a group, or its number. */
const char *hf_sq_group_name(gid_t group, char ret[64]);

/* ---- system.c: the machine's store ------------------------------------------- */

/* Does this path lead to it?  `folder`: of the folder that the path is in. */
bool hf_sq_system_is_at(const char *path, const struct stat *folder);

/* Make its folder, or correct owner and mode of what exists.  Its files are then made
 * as usual. */
int hf_sq_system_prepare(struct hf_sq_files *files, char *errmsg);

/* May we use its folder?  `st` NULL: there is none. */
int hf_sq_system_check_folder(struct hf_sq_files *files, const struct stat *st,
                              char *errmsg);

/* ---- signals.c --------------------------------------------------------------- */

/* A write past the limit for the size of files (setrlimit(2)) raises SIGXFSZ, and one
 * to a FIFO whose reader has died raises SIGPIPE; by default both kill the program.
 * Signal handlers are the program's, not ours.  But these signals go to the thread
 * that writes: we block them there while we work and discard them afterwards, and the
 * write fails with EFBIG or EPIPE. */
struct hf_sq_blocked_signal {
    int      signal;  /* 0: none is blocked */
    bool     pending; /* the program's own was, before */
    sigset_t before;
};

/* Around all writes to files: SIGXFSZ, if there is a limit.  Around wake-ups: SIGPIPE. */
void hf_sq_block_sigxfsz(struct hf_sq_blocked_signal *blocked);
void hf_sq_block_sigpipe(struct hf_sq_blocked_signal *blocked);
void hf_sq_unblock_signal(const struct hf_sq_blocked_signal *blocked);

/* In between: has a write met the limit?  SQLite may have lost errno. */
bool hf_sq_size_limit_hit(void);

/* ---- file_watch.c: notice that the files were deleted, moved or replaced ----- */

void hf_sq_file_watch_start(struct hf_sq *sq); /* there is something to lose now */
void hf_sq_file_watch_stop(struct hf_sq *sq);
void hf_sq_file_watch_notified(struct hf_sq *sq); /* inotify is readable */
void hf_sq_file_watch_run(struct hf_sq *sq);      /* sq->file_check has come */

/* A place of ours is granted.  confirm() first checks that the files are still there,
 * or returns HF_SQ_STALE; holder() is for callers that know they are. */
int  hf_sq_file_watch_confirm(struct hf_sq *sq, const struct hf_sq_own *own);
void hf_sq_file_watch_holder(struct hf_sq *sq);

#endif
