/* shm.h - PATH-shm, the index of the write-ahead log, read and written instead of mapped.
 *
 * SQLite maps this file.  Every user who may write to it can also truncate it, and SIGBUS
 * kills a process that touches a mapped page beyond the end of the file: a member of a
 * group could kill every client of the store, root's included.  And if the file is
 * truncated to a few KiB, its header is complete, but the index behind it is empty:
 * SQLite finds no page in the log, and reads an old state of the database, without the
 * current holders.
 *
 * So SQLite gets a copy of the file in memory, one for each connection:
 *
 *     a lock is taken      read what others have changed from the file
 *     a lock is released   write what SQLite has changed to the file
 *
 * SQLite changes nothing without a lock, and never relies on what it read without one:
 * after it has locked its snapshot it compares the header again, and starts over if that
 * has changed.  The locks are on the usual bytes of the file, so we work together with
 * the sqlite3 shell, which maps the file.  index.h says what is read and written.
 */
#ifndef HF_SQLITE_SHM_H
#define HF_SQLITE_SHM_H

#include "store/sqlite/files/files.h"

#include <sqlite3.h>

struct hf_sq_shm;

/* The size of a database file of "unix" with what we add to it. */
int hf_sq_shm_init(const sqlite3_vfs *usual);

/* Replace the shared-memory methods of a database file that was just opened. */
void hf_sq_shm_wrap(sqlite3_file *db);

/* Call it before the database is first used.  `files` is lent until the database is
 * closed. */
void hf_sq_shm_set_files(sqlite3 *handle, const struct hf_sq_files *files);

/* Before and after BEGIN IMMEDIATE.  A transaction of ours that writes has SQLite's
 * write lock from the start, so SQLite begins with the current file and need not start
 * over.  It takes no read lock and no read mark, as the write lock keeps out the same
 * processes.  That saves most of what writing the index costs.  No statement may go on
 * reading after the COMMIT.  unlock() is for a BEGIN that failed. */
void hf_sq_shm_lock_early(sqlite3 *handle);
void hf_sq_shm_unlock_early(sqlite3 *handle);

#endif
