/* files.h - the files of one store: their names, how they are made, and whether to trust
 * them.
 *
 * A store is one user's: what is made is for its owner alone, and what is there must be
 * his or root's, in a folder where nobody else can put another in its place.  Or it is a
 * group's: then folder and files are the group's (2770, 0660), whoever made them, and its
 * members trust each other.  The umask has no say in it.
 *
 * Which of both is decided when the store is made, by ?group=NAME; later on the folder and
 * the database show it.
 *
 * One store is the machine's (system.c): a group's, in a folder that root keeps.
 */
#ifndef HF_SQLITE_FILES_H
#define HF_SQLITE_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* What is not complete yet is called PATH-new-NUMBER. */
#define HF_SQ_EARLY "-new-"

/* Room for any of these paths: longer ones are refused. */
#define HF_SQ_PATH 544

/* How all of this is kept.  Whoever changes that in a way that another version would not
 * understand, or would misunderstand, changes the number. */
extern const int hf_sq_layout;

struct hf_sq_files {
    char  folder[HF_SQ_PATH]; /* all absolute */
    char  db[HF_SQ_PATH];
    char  wal[HF_SQ_PATH];
    char  shm[HF_SQ_PATH];
    char  journal[HF_SQ_PATH]; /* there is none: not used if there is */
    char  live[HF_SQ_PATH];
    char  wake[HF_SQ_PATH]; /* a folder */
    bool  force;            /* any file system will do */
    bool  group_given;      /* ?group= was given */
    bool  shared;           /* it is a group's */
    gid_t group;            /* that one */
    bool  system;           /* it is the machine's */
    bool  init;             /* and we are to make it */
};

/* `errmsg` everywhere: HF_ERRMSG_MAX bytes, written on failure. */
int hf_sq_files_init(struct hf_sq_files *files, const char *path, bool force,
                     char *errmsg);
int hf_sq_files_share(struct hf_sq_files *files, const char *group, char *errmsg);

/* Is there room for what is added to that path, as SQLite and the file system see it? */
bool hf_sq_files_fit(const char *db);

/* The folder that a path is in. */
void hf_sq_folder_of(const char *path, char ret[HF_SQ_PATH]);

/* The folder, which shows whose the store is: 1 if it is not there but may be made, or a
 * fault. */
int hf_sq_files_check_folder(struct hf_sq_files *files, char *errmsg);
int hf_sq_files_make_folder(const struct hf_sq_files *files, char *errmsg);

/* Make the database, empty.  Behind the gate, as it is not there. */
int hf_sq_files_make_db(const struct hf_sq_files *files, char *errmsg);

/* Open a file of ours that can be trusted, with O_RDONLY or O_RDWR; make it unless it is there.
 * It is for reading alone if the file system is.  Close it by hf_fork_close(). */
int hf_sq_files_open(const struct hf_sq_files *files, const char *path, int access,
                     char *errmsg, int *ret);

/* Make the folder of the FIFOs unless it is there; what they and other files are for
 * their owner, or group. */
int    hf_sq_files_make_wake(const struct hf_sq_files *files, char *errmsg);
mode_t hf_sq_files_mode(const struct hf_sq_files *files);

/* Have what was written to a file on the disk.  False with errno. */
bool hf_sq_files_sync(const char *path);

/* Can others than its owner look at the database?  Not if there is none. */
bool hf_sq_files_shared(const struct hf_sq_files *files);

/* The inode a path leads to, 0 if none. */
ino_t hf_sq_files_inode(const char *path);

/* The store needs locks that all its users see.  On a network file system users on other machines,
 * or behind another mount, may not.  The name of a file system type that must not be used, else
 * NULL. */
const char *hf_sq_volume_name(unsigned long type);

/* HF_EDENIED, HF_EFULL, HF_EINVAL, HF_ENOTFOUND or HF_ESTORE for `error`, and a text:
 * "cannot <what> <path>: <why>". */
int hf_sq_files_fault(int error, const char *what, const char *path, char *errmsg);

/* HF_EUNSUPPORTED, and a text: a store has another layout than ours.  An older one is refused
 * while somebody uses it. */
int hf_sq_files_other_layout(const char *db, uint64_t layout, char *errmsg);

/* ---- system.c: the machine's store ---------------------------------------------- */

/* Is it that one, by whatever path?  `folder`: the one that the path leads to. */
bool hf_sq_system_is_at(const char *path, const struct stat *folder);

/* Make its folder, or bring what is there in order.  Its files are then made as usual. */
int hf_sq_system_prepare(struct hf_sq_files *files, char *errmsg);

/* May its folder be used?  `st` NULL: there is none. */
int hf_sq_system_trust(struct hf_sq_files *files, const struct stat *st, char *errmsg);

/* ---- trust.c ------------------------------------------------------------------ */

/* May it be used: a folder that is there, with its place in `files` found out; a plain
 * file; the folder of the FIFOs? */
int hf_sq_trust_folder(struct hf_sq_files *files, const struct stat *st, char *errmsg);
int hf_sq_trust_file(const struct hf_sq_files *files, const char *path,
                     const struct stat *st, char *errmsg);
int hf_sq_trust_wake(const struct hf_sq_files *files, const struct stat *st,
                     char *errmsg);

/* All that is there: HF_ENOTFOUND if the database is not, or a fault. */
int hf_sq_files_check(const struct hf_sq_files *files, char *errmsg);

/* Open the folder of the FIFOs, if it can be trusted.  -1 with errno. */
int hf_sq_files_open_wake(const struct hf_sq_files *files);

/* Open what we have just made in `folder` (AT_FDCWD: by its path), where others may have put
 * something else in its place since: only if it is ours, and of that type (S_IFDIR, S_IFIFO).
 * Its mode and group are then set by the descriptor.  -1 with errno. */
int hf_sq_files_open_new(int folder, const char *path, mode_t type, int flags);

/* Is this process in the group?  Root may do everything in every group. */
bool hf_sq_group_has_us(gid_t group);

/* The name of a group, or its number. */
const char *hf_sq_group_name(gid_t group, char ret[64]);

#endif
