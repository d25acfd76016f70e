/* live.h - PATH-live: liveness locks, the write lock, and the header.
 *
 * Byte `seq` of the file is the liveness lock of the place `seq`.  The session that has
 * the place locks it (F_OFD_SETLK) through its open file description `keep`.  The kernel
 * unlocks it when the last descriptor of that description is closed, however the process
 * ends, and not a moment earlier.  So the lock is the truth about a place, and its row
 * only a note.
 *
 * The write lock is an flock() on a description of its own, so that a killed process
 * never leaves it locked while a guardian keeps its places alive.  SQLite's own busy
 * handler is unfair: it lets one process of eight write 17,000 times while another writes
 * once.
 *
 * The header names the database, log and index by their inodes.  A client that finds
 * other files must not use them while any liveness lock is held: a process that uses the
 * old files still holds a lock.  The header also keeps what changes with every place and
 * need not survive a reboot: it costs one small write, where a page of the database costs
 * a log entry.
 *
 * Every layout shares the following, so that two versions recognize each other: the write
 * lock; one locked byte behind the first for every place; the first three numbers of the
 * header; the FIFO that a session reads in PATH-wake; application_id and user_version of
 * the database, and the mark in its table `meta`.
 */
#ifndef HF_SQLITE_LIVE_H
#define HF_SQLITE_LIVE_H

#include "base/clock.h"
#include "store/sqlite/files/files.h"

#include <stdint.h>

struct hf_sq_live {
    int   fd;   /* for the write lock and the header; -1: not open */
    int   keep; /* for our liveness locks; -1: no session */
    dev_t device;
    ino_t inode;
    bool  locked; /* we have the write lock */
};

/* Read and written under the write lock; the inodes may be read without. */
struct hf_sq_header {
    uint64_t magic;
    uint64_t layout;
    uint64_t last; /* highest number given to a place */
    uint64_t db;   /* inodes */
    uint64_t wal;
    uint64_t shm;
    uint64_t boot; /* which boot of the machine the rest was written in */
    uint64_t hwm;  /* no higher number may be given out; as in the database */
    uint64_t kept; /* how many history entries (history.h); 0: none */
};

#define HF_SQ_KEPT 1000 /* unless ?history=N says otherwise */

#define HF_SQ_LIVE_INIT      \
    {                        \
        .fd = -1, .keep = -1 \
    }

/* Open the file, and make it if it does not exist; start() opens the description
 * `keep`. */
int  hf_sq_live_open(struct hf_sq_live *live, const struct hf_sq_files *files,
                     char *errmsg);
int  hf_sq_live_start(struct hf_sq_live *live, const struct hf_sq_files *files,
                      char *errmsg);
void hf_sq_live_close(struct hf_sq_live *live);

/* Does the path lead to the file that we have open? */
bool hf_sq_live_is_at(const struct hf_sq_live *live, const char *path);

/* False and errno; EWOULDBLOCK: another process keeps it for longer than `patience`. */
bool hf_sq_write_lock_take(struct hf_sq_live *live, hf_time patience);
void hf_sq_write_lock_release(struct hf_sq_live *live);

/* Take and release the liveness lock of a place of ours.  lock() returns false if the
 * kernel has no room for it. */
bool hf_sq_live_lock(struct hf_sq_live *live, uint64_t seq);
void hf_sq_live_unlock(struct hf_sq_live *live, uint64_t seq);

/* Can a place have this number?  A row with another one is nobody's. */
bool hf_sq_seq_is_valid(uint64_t seq);

/* Does any session, ours included, hold the liveness lock of the place `seq`?  Any at
 * all? */
bool hf_sq_live_is_locked(const struct hf_sq_live *live, uint64_t seq);
bool hf_sq_live_any_locked(const struct hf_sq_live *live);

/* now(): a header with the inodes that the paths lead to.  read(): the header of the
 * file, if it has our layout.  start(): the part that every layout has, all 0 if there
 * is none. same_files(): do both name the same files? */
struct hf_sq_header hf_sq_header_now(const struct hf_sq_files *files);
bool hf_sq_header_read(const struct hf_sq_live *live, struct hf_sq_header *ret);
struct hf_sq_header hf_sq_header_start(const struct hf_sq_live *live);
bool hf_sq_header_write(const struct hf_sq_live *live, const struct hf_sq_header *header);
bool hf_sq_header_same_files(const struct hf_sq_header *a, const struct hf_sq_header *b);

#endif
