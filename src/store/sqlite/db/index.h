/* index.h - a copy of PATH-shm in memory, which SQLite uses: see shm.h.
 *
 * The file begins with a header: how many pages are in the log, and which log it is.
 * Then come the read marks and how much was written back; then the index: for each page
 * of the log its page number in the database, and a hash table to find it by.
 *
 * - The index is written before the header, and read after it.  So it has all pages that
 *   the header counts, and perhaps more, which SQLite ignores.
 * - Until the log is restarted, pages are only added to it.  So we read new pages only,
 *   and build a hash table of our own.  We write it for programs that map the file.
 * - A page of the log that is missing in the file has the number 0.  Then the file was
 *   truncated, and we give SQLite a header of zeros: it takes its write lock and rebuilds
 *   the index from the log, as it does after a crash.  A transaction in progress is not
 *   affected.
 * - While we have SQLite's write lock, header and index are only written: our copy is
 *   right, whatever happens to the file.
 * - Of the rest we write only words that SQLite has changed: other locks protect the
 *   others.
 * - If the index cannot be written we truncate the file, which needs no room: no index is
 *   better than one without our change.
 */
#ifndef HF_SQLITE_INDEX_H
#define HF_SQLITE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_SQ_INDEX_HEADER 34 /* words before the index */

struct hf_sq_region;

struct hf_sq_index {
    int                   fd;     /* lent; -1: not open */
    struct hf_sq_region **region; /* what SQLite has */
    size_t                count;
    uint32_t file[HF_SQ_INDEX_HEADER]; /* the file, as last read or written */
    uint32_t salt[2];                  /* of the log that our index is of; 0: of none */
    uint32_t frames;                   /* how many pages of it we have */
};

/* A region of the copy, for SQLite, lent until finish(); region 0 comes first.  NULL:
 * no memory. */
#define HF_SQ_INDEX_REGION 32768 /* bytes */
struct hf_sq_region *hf_sq_index_region(struct hf_sq_index *index, size_t number);
void                 hf_sq_index_finish(struct hf_sq_index *index);

/* After a lock was taken: read what others have changed.  Before a lock is released:
 * write what SQLite has changed.  `writes`: we have SQLite's write lock.  False with
 * errno. */
bool hf_sq_index_read(struct hf_sq_index *index, bool writes);
bool hf_sq_index_write(struct hf_sq_index *index, bool writes);

/* SQLite sets a read mark for how much of the log its transaction needs, or uses one
 * that is not too high.  Is there one? */
bool hf_sq_index_has_mark(const struct hf_sq_index *index);

#endif
