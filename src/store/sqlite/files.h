/* files.h - the files of one store: their names, and whether to trust them.
 *
 * What is made here is for its owner alone, whatever the umask.  What is there
 * already must be a plain file of ours or root's, in a folder where nobody else
 * can put another in its place.
 */
#ifndef HF_SQLITE_FILES_H
#define HF_SQLITE_FILES_H

#include <stdbool.h>
#include <sys/types.h>

struct hf_sq_files {
    char *folder; /* all absolute */
    char *db;
    char *wal;
    char *shm;
    char *live;
    char *wake;  /* a folder */
    bool  force; /* any file system will do */
};

/* `errmsg` everywhere: HF_ERRMSG_MAX bytes, written on failure. */
int  hf_sq_files_init(struct hf_sq_files *files, const char *path, bool force,
                      char *errmsg);
void hf_sq_files_finish(struct hf_sq_files *files);

/* The folder: 1 if it is not there but may be made, or a fault. */
int hf_sq_files_check_folder(const struct hf_sq_files *files, char *errmsg);
int hf_sq_files_make_folder(const struct hf_sq_files *files, char *errmsg);

/* A plain file: HF_ENOTFOUND if it is not there, or a fault. */
int hf_sq_files_check(const char *path, char *errmsg);

/* Make the database, empty, unless it is there. */
int hf_sq_files_make_db(const struct hf_sq_files *files, char *errmsg);

/* Open a file of ours for reading and writing; `make`: unless it is there. */
int hf_sq_files_open(const char *path, bool make, char *errmsg, int *ret);

/* Make the folder of the FIFOs unless it is there. */
int hf_sq_files_make_wake(const struct hf_sq_files *files, char *errmsg);

/* Have what was written to a file on the disk, if that can be done. */
void hf_sq_files_sync(const char *path);

/* Can others than its owner look at the database?  Not if there is none. */
bool hf_sq_files_shared(const struct hf_sq_files *files);

/* The inode a path leads to, 0 if none. */
ino_t hf_sq_files_inode(const char *path);

/* HF_EDENIED, HF_EFULL, HF_ENOTFOUND or HF_ESTORE for `error`, and a text:
 * "cannot <what> <path>: <why>". */
int hf_sq_files_fault(int error, const char *what, const char *path, char *errmsg);

#endif
