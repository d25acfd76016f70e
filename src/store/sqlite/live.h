/* live.h - PATH-live: who lives, and whose turn it is to write.
 *
 * Byte `seq` is locked (F_OFD_SETLK) by the open file description `keep` of the
 * session that has the ticket.  The kernel lets go of it when the last
 * descriptor of that description is closed, however the process ends, and not
 * a moment before: so it is the truth about a ticket, and a row only a note.
 *
 * The gate is an flock() on a description of its own, so that it is never left
 * shut by a killed process whose guardian keeps the tickets alive.  SQLite's
 * own way of waiting for its write lock lets one process of eight write 17,000
 * times while another writes once.
 *
 * At its head the file says which database, by inodes, the bytes speak of.
 * Whoever finds other files than those must not use them while any byte is
 * locked: somebody still holds a lock that they know nothing of.  The head also
 * keeps what changes with every ticket and need not outlast the machine: it
 * costs one small write, where a page of the database costs a log entry.
 *
 * What every layout has in common, so that two versions that meet know each other: the gate;
 * a byte behind the first is locked for every ticket; the first three numbers of the head; the
 * FIFO that a session reads in PATH-wake; application_id and user_version of the database, and
 * the mark in its table `meta`.
 */
#ifndef HF_SQLITE_LIVE_H
#define HF_SQLITE_LIVE_H

#include "base/clock.h"
#include "store/sqlite/files.h"

#include <stdint.h>

struct hf_sq_live {
    int   gate; /* -1: not open */
    int   keep; /* -1: no session */
    dev_t device;
    ino_t inode;
    bool  taken; /* the gate is ours */
};

/* The head.  Read and written with the gate taken; what it says of the files
 * may be read without. */
struct hf_sq_head {
    uint64_t magic;
    uint64_t layout;
    uint64_t last; /* highest number given to a ticket */
    uint64_t db;   /* inodes */
    uint64_t wal;
    uint64_t shm;
    uint64_t boot; /* which boot of the machine the rest was written in */
    uint64_t hwm;  /* no higher one may be given out; as in the database */
    uint64_t kept; /* how many records of what happened (past.h); 0: none */
};

#define HF_SQ_KEPT 1000 /* unless somebody wants another number */

#define HF_SQ_LIVE_INIT        \
    {                          \
        .gate = -1, .keep = -1 \
    }

/* Open the file, making it if need be; later, the description for tickets. */
int  hf_sq_live_open(struct hf_sq_live *live, const struct hf_sq_files *files,
                     char *errmsg);
int  hf_sq_live_start(struct hf_sq_live *live, const struct hf_sq_files *files,
                      char *errmsg);
void hf_sq_live_close(struct hf_sq_live *live);

/* Is the file that we have open the one that the path leads to? */
bool hf_sq_live_is_at(const struct hf_sq_live *live, const char *path);

/* False if somebody keeps it shut for longer than `patience`. */
bool hf_sq_gate_take(struct hf_sq_live *live, hf_time patience);
void hf_sq_gate_give(struct hf_sq_live *live);

/* Lock and unlock the byte of a ticket of ours.  hold() answers false if the
 * kernel has no room for it. */
bool hf_sq_live_hold(struct hf_sq_live *live, uint64_t seq);
void hf_sq_live_drop(struct hf_sq_live *live, uint64_t seq);

/* Is there such a byte?  A row with another number is nobody's. */
bool hf_sq_live_can(uint64_t seq);

/* Is anybody's ticket `seq` alive, ours included?  Is any at all? */
bool hf_sq_live_has(const struct hf_sq_live *live, uint64_t seq);
bool hf_sq_live_has_any(const struct hf_sq_live *live);

/* A head with the inodes that the paths lead to now; the one that is written there, if it is
 * of our layout; what any layout has of it, all 0 if there is none.  Do two mean the same
 * files? */
struct hf_sq_head hf_sq_head_now(const struct hf_sq_files *files);
bool              hf_sq_head_read(const struct hf_sq_live *live, struct hf_sq_head *ret);
struct hf_sq_head hf_sq_head_start(const struct hf_sq_live *live);
bool hf_sq_head_write(const struct hf_sq_live *live, const struct hf_sq_head *head);
bool hf_sq_head_same_files(const struct hf_sq_head *a, const struct hf_sq_head *b);

#endif
