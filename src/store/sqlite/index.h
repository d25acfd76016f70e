/* index.h - a copy of PATH-shm in memory, which SQLite uses: see shm.h.
 *
 * The file begins with a header: how many pages are in the log, and which log it is.  Then
 * come what readers need and how much was written back; then the index: for each page of the log
 * the page of the database that it is, and a hash table to find it by.
 *
 * - The index is written before the header, and read after it.  So it has all the pages that the
 *   header tells of, and perhaps more, which SQLite ignores.
 * - Until the log starts anew pages are only added to it.  So those are read that are new, and our
 *   hash table is our own.  It is written for programs that map the file.
 * - A page of the log that is missing in the file has the number 0.  Then the file was truncated,
 *   and SQLite gets a header of zeros: it takes the write lock and makes the index anew from the
 *   log, as it does after a crash.  A transaction that is under way ends as it would have.
 * - With the write lock, header and index are only written: our copy is right, whatever happens
 *   to the file.
 * - Of the rest only words that SQLite has changed are written: others have other locks.
 * - If the index cannot be written the file is truncated, which needs no room: no index is better
 *   than one without our change.
 */
#ifndef HF_SQLITE_INDEX_H
#define HF_SQLITE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_SQ_INDEX_HEAD 34 /* words before the index */

struct hf_sq_region;

struct hf_sq_index {
    int                   fd;     /* lent; -1: not open */
    struct hf_sq_region **region; /* what SQLite has */
    size_t                count;
    uint32_t file[HF_SQ_INDEX_HEAD]; /* what the file has, as far as we know */
    uint32_t salt[2];                /* of the log that our index is of; 0: of none */
    uint32_t frames;                 /* so many pages of it */
};

/* A part of the copy, for SQLite, lent until finish(); region 0 comes first.  NULL: no memory. */
#define HF_SQ_INDEX_REGION 32768 /* bytes */
struct hf_sq_region *hf_sq_index_region(struct hf_sq_index *index, size_t number);
void                 hf_sq_index_finish(struct hf_sq_index *index);

/* A lock was taken: read what others have changed.  A lock is given up: write what SQLite has
 * changed.  `writes`: we have the write lock.  False with errno. */
bool hf_sq_index_read(struct hf_sq_index *index, bool writes);
bool hf_sq_index_write(struct hf_sq_index *index, bool writes);

/* SQLite sets a mark that says how much of the log its transaction needs, or makes do with one
 * that is not too high.  Is there one? */
bool hf_sq_index_has_mark(const struct hf_sq_index *index);

#endif
