/* index.c - the copy of PATH-shm: see index.h.  Its format: sqlite.org/walformat.html. */
#include "store/sqlite/db/index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In words of four bytes. */
#define REGION    8192 /* the file grows by regions */
#define PAGES     4096 /* page numbers in a region; the first has INFO fewer */
#define HEADER    24   /* at the start of the first region, two copies */
#define FRAMES    4    /* in the header: how many pages are in the log */
#define SALT      8 /* in the header: two words, new ones whenever the log is restarted */
#define INFO      HF_SQ_INDEX_HEADER /* end of read marks and checkpoint state */
#define MARKS     26                 /* in there: the read marks */
#define MARKS_END 30

#define SLOTS 8192 /* of two bytes, in each region */

struct hf_sq_region {
    uint32_t page[PAGES]; /* which page of the database each page of the log is */
    uint16_t slot[SLOTS]; /* a hash table: its place in `page`, from 1 on */
};

static_assert(sizeof(struct hf_sq_region) == HF_SQ_INDEX_REGION, "SQLite's format");

/* ---- The file ---------------------------------------------------------------- */

/* Words behind the end of the file are 0. */
static bool read_words(const struct hf_sq_index *index, uint32_t *ret, size_t count,
                       size_t at)
{
    ssize_t n = pread(index->fd, ret, count * sizeof *ret, (off_t)(at * sizeof *ret));

    if (n < 0)
        return false;
    memset((char *)ret + n, 0, count * sizeof *ret - (size_t)n);
    return true;
}

static bool write_bytes(const struct hf_sq_index *index, size_t number, const void *from,
                        size_t size)
{
    const char *next = from, *end = next + size;
    off_t       start = (off_t)(number * sizeof(struct hf_sq_region));
    ssize_t     n = 0;

    /* The rest of a short write fails the next time. */
    for (; next < end && n >= 0; next += n)
        n = pwrite(index->fd, next, (size_t)(end - next),
                   start + (off_t)(next - (const char *)index->region[number]));
    return n >= 0;
}

/* ---- The index in memory ----------------------------------------------------- */

struct hf_sq_region *hf_sq_index_region(struct hf_sq_index *index, size_t number)
{
    while (index->count <= number) {
        struct hf_sq_region **more =
            realloc(index->region, (index->count + 1) * sizeof *more);
        if (more != NULL)
            index->region = more;
        if (more == NULL || (more[index->count] = calloc(1, sizeof **more)) == NULL)
            return NULL;
        index->count++;
    }
    return index->region[number];
}

/* The word of a page of the log, counted through all regions; the first page is 1. */
static size_t place_of(uint32_t frame)
{
    return (size_t)frame + INFO - 1;
}

/* The slot of a page with that content, or the free slot that it belongs in. */
static uint16_t *slot_of(struct hf_sq_region *region, uint32_t page, uint16_t content)
{
    size_t at = page * 383 % SLOTS;

    while (region->slot[at] != content && region->slot[at] != 0)
        at = (at + 1) % SLOTS;
    return &region->slot[at];
}

/* Its place in the region, as slots store it. */
static uint16_t content_of(uint32_t frame)
{
    size_t place = place_of(frame);

    return (uint16_t)(place % PAGES + 1 - (place < PAGES ? INFO : 0));
}

/* The bytes of the region from that page on. */
static size_t size_from(const struct hf_sq_region *region, const uint32_t *page)
{
    return (size_t)((const char *)(region + 1) - (const char *)page);
}

static void forget_index(struct hf_sq_index *index)
{
    index->frames = index->salt[0] = index->salt[1] = 0;
}

/* Forget the file: it is read again, and then written as a whole. */
static void forget_file(struct hf_sq_index *index)
{
    memset(index->file, 0xff, HEADER * sizeof *index->file);
    forget_index(index);
}

static bool is_header(const uint32_t *header)
{
    return header[0] != 0 &&
           memcmp(header, header + HEADER / 2, HEADER / 2 * sizeof *header) == 0;
}

static bool is_same_log(const struct hf_sq_index *index, const uint32_t *header)
{
    return memcmp(header + SALT, index->salt, sizeof index->salt) == 0 &&
           header[FRAMES] >= index->frames;
}

/* ---- Reading ----------------------------------------------------------------- */

/* Read all pages that the header counts into the index, with slots as SQLite would
 * make them.  False: some are missing. */
static bool read_index(struct hf_sq_index *index, const uint32_t *header)
{
    if (!is_same_log(index, header))
        index->frames = 0;
    memcpy(index->salt, header + SALT, sizeof index->salt);
    while (index->frames < header[FRAMES]) {
        size_t place = place_of(index->frames + 1), in_region = place % PAGES;
        size_t count = header[FRAMES] - index->frames;
        struct hf_sq_region *region = hf_sq_index_region(index, place / PAGES);
        if (region == NULL)
            return false;
        uint32_t *page = &region->page[in_region];
        if (content_of(index->frames + 1) == 1)
            memset(page, 0, size_from(region, page));
        if (count > PAGES - in_region)
            count = PAGES - in_region;
        if (!read_words(index, page, count, place / PAGES * REGION + in_region))
            return false;
        for (size_t i = 0; i < count; i++) {
            if (page[i] == 0)
                return false;
            uint16_t content = content_of(++index->frames);
            *slot_of(region, page[i], 0) = content;
        }
    }
    return true;
}

bool hf_sq_index_read(struct hf_sq_index *index, bool writes)
{
    uint32_t *now = index->region[0]->page, start[INFO];
    size_t    size = HEADER * sizeof *start;

    if (!read_words(index, start, INFO, 0))
        return false;
    for (size_t i = HEADER; i < INFO; i++) {
        if (now[i] == index->file[i])
            now[i] = start[i];
        index->file[i] = start[i];
    }
    if (writes || memcmp(start, index->file, size) == 0)
        return true;
    memcpy(index->file, start, size);
    if (is_header(start) && !read_index(index, start)) {
        forget_file(index);
        memset(start, 0, size);
    }
    memcpy(now, start, size);
    return true;
}

/* ---- Writing ----------------------------------------------------------------- */

/* Write all of a region, or the pages that the file did not have. */
static bool write_region(struct hf_sq_index *index, size_t number, uint32_t from,
                         uint32_t to)
{
    struct hf_sq_region *region = index->region[number];
    uint32_t            *start = &region->page[place_of(from + 1) % PAGES];
    bool                 done;

    if (content_of(from + 1) == 1)
        return write_bytes(index, number, start, size_from(region, start));
    done = write_bytes(index, number, start, (to - from) * sizeof *start);
    while (done && from++ < to) {
        uint16_t *slot = slot_of(region, *start++, content_of(from));
        done = write_bytes(index, number, slot, sizeof *slot);
    }
    return done;
}

/* SQLite may have changed header and index: write the pages first, the header last. */
static bool write_index(struct hf_sq_index *index)
{
    uint32_t *now = index->region[0]->page;
    size_t    size = HEADER * sizeof *now;

    if (memcmp(now, index->file, size) == 0)
        return true;
    if (!is_header(now))
        forget_index(index);
    else if (!is_same_log(index, now))
        index->frames = 0;
    while (is_header(now) && index->frames < now[FRAMES]) {
        size_t   number = place_of(index->frames + 1) / PAGES;
        uint32_t end = (uint32_t)((number + 1) * PAGES - INFO);
        uint32_t to = now[FRAMES] < end ? now[FRAMES] : end;
        if (!write_region(index, number, index->frames, to))
            return false;
        index->frames = to;
    }
    memcpy(index->salt, now + SALT, sizeof index->salt);
    memcpy(index->file, now, size);
    return write_bytes(index, 0, now, size);
}

bool hf_sq_index_write(struct hf_sq_index *index, bool writes)
{
    uint32_t *now = index->region[0]->page;

    for (size_t i = HEADER; i < INFO; i++)
        if (now[i] != index->file[i]) {
            index->file[i] = now[i];
            if (!write_bytes(index, 0, now + i, sizeof *now))
                return false;
        }
    if (!writes || write_index(index))
        return true;
    int error = errno;
    (void)!ftruncate(index->fd, 0);
    forget_file(index);
    errno = error;
    return false;
}

bool hf_sq_index_has_mark(const struct hf_sq_index *index)
{
    const uint32_t *first = index->region[0]->page;

    for (size_t i = MARKS; i < MARKS_END; i++)
        if (first[i] <= first[FRAMES])
            return true;
    return false;
}

void hf_sq_index_finish(struct hf_sq_index *index)
{
    for (size_t i = 0; i < index->count; i++)
        free(index->region[i]);
    free(index->region);
    *index = (struct hf_sq_index){ .fd = -1 };
}
