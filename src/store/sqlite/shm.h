/* shm.h - PATH-shm, the index of the write-ahead log, read and written instead of mapped.
 *
 * SQLite maps this file.  Anyone who may write to it can also truncate it, and a process that
 * touches a mapped page beyond the end of a file is killed by SIGBUS: a member of a group
 * could kill every client of the store, root's included.  And if the file is truncated to a few
 * KiB, its header is whole, but the index behind it is empty: SQLite finds no page in the log,
 * and sees the database as it was before, without those who hold a lock.
 *
 * So SQLite gets a copy of the file in memory, one for each connection:
 *
 *     a lock is taken      what others have changed is read from the file
 *     a lock is given up   what SQLite has changed is written to the file
 *
 * SQLite changes nothing without a lock, and never relies on what it read without one: after
 * it has locked its snapshot it compares the header again, and starts over if that is
 * another.  The locks are on the same bytes of the file as always, so the sqlite3 shell, which
 * maps the file, and we work together.  index.h says what is read and written.
 */
#ifndef HF_SQLITE_SHM_H
#define HF_SQLITE_SHM_H

#include "store/sqlite/files.h"

#include <sqlite3.h>

struct hf_sq_shm;

/* The bytes that a database file of "unix" needs behind its own, together. */
int hf_sq_shm_init(const sqlite3_vfs *usual);

/* A database file was opened: this is how it gets its index. */
void hf_sq_shm_wrap(sqlite3_file *db);

/* Whose store the database is in, before it is used first.  `files` is lent until it is closed. */
void hf_sq_shm_set_files(sqlite3 *handle, const struct hf_sq_files *files);

/* Before and after BEGIN IMMEDIATE.  A transaction of ours that writes has the write lock from
 * the start, so SQLite begins with what is in the file now, and need not start over; and its read
 * lock and read mark, which would keep nobody out but those whom the write lock keeps out, are
 * not taken.  That makes up for most of what it costs to write the index down.  No statement may
 * go on reading after the COMMIT.  unlock() is for a BEGIN that failed. */
void hf_sq_shm_lock_early(sqlite3 *handle);
void hf_sq_shm_unlock_early(sqlite3 *handle);

#endif
