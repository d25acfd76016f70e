/* ring.c - records in PATH-live: see past.h. */
#include "store/sqlite/inner.h"

#include "base/grow.h"
#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START    4096 /* behind the head */
#define SIZE_MIN 65536
#define LONGEST  16384 /* of a record; what is longer is not kept */

/* Followed by line, note and reason, each ended by a 0, then zeros up to a multiple of 8,
 * and struct tail. */
struct record {
    uint64_t number;
    uint64_t check; /* of all the rest */
    int64_t  time;
    uint64_t token;
    uint32_t weight, capacity;
    int32_t  slot;
    char     what;
    uint8_t  claim;
    uint16_t line, note, reason; /* lengths, without the 0 */
    uint32_t spare;
};

struct tail {
    uint32_t size; /* of the whole */
    uint32_t mark;
};

#define MARK UINT32_C(0x74736170) /* "past" */

static uint64_t ring_size(uint64_t kept)
{
    uint64_t size = kept * HF_SQ_RECORD;

    return size > SIZE_MIN ? size : SIZE_MIN;
}

static size_t record_size(const struct record *record)
{
    size_t text = (size_t)record->line + record->note + record->reason + 3;

    return sizeof *record + (text + 7) / 8 * 8 + sizeof(struct tail);
}

/* Of all of it but the check. */
static uint64_t check_of(const char *bytes, size_t size)
{
    uint64_t word, hash = UINT64_C(0xcbf29ce484222325);

    for (size_t at = 0; at < size; at += sizeof word) {
        if (at == offsetof(struct record, check))
            continue;
        memcpy(&word, bytes + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

/* ---- Writing -------------------------------------------------------------------- */

static uint16_t length_of(const char *text)
{
    size_t length = strlen(text);

    return length < LONGEST ? (uint16_t)length : LONGEST;
}

int hf_sq_records_add(struct hf_sq *sq, const struct hf_past *past)
{
    struct hf_sq_records *all = &sq->records;
    struct record         record = {
                .number = past->number,
                .time = past->time,
                .token = past->token,
                .weight = past->shape.weight,
                .capacity = past->shape.capacity,
                .slot = past->slot,
                .what = past->what,
                .claim = past->shape.claim,
                .line = length_of(past->line),
                .note = length_of(past->note),
                .reason = length_of(past->reason),
    };
    size_t size = record_size(&record);
    if (size > LONGEST)
        return 0;
    char *grown = hf_grow(all->bytes, &all->room, all->size + size, 1);
    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    all->bytes = grown;

    struct tail tail = { (uint32_t)size, MARK };
    char       *at = all->bytes + all->size;
    memset(at, 0, size);
    memcpy(at, &record, sizeof record);
    memcpy(at + size - sizeof tail, &tail, sizeof tail);
    at += sizeof record;
    memcpy(at, past->line, record.line);
    memcpy(at += record.line + 1, past->note, record.note);
    memcpy(at + record.note + 1, past->reason, record.reason);
    all->size += size;
    return 0;
}

/* Bytes at a place in the ring, which ends where it begins. */
static bool write_bytes(const struct hf_sq *sq, uint64_t at, const char *bytes,
                        size_t size)
{
    uint64_t ring = ring_size(sq->head.kept);

    while (size > 0) {
        uint64_t where = at % ring;
        size_t   part = size < ring - where ? size : (size_t)(ring - where);
        if (pwrite(sq->live.gate, bytes, part, (off_t)(START + where)) != (ssize_t)part)
            return false;
        at += part;
        bytes += part;
        size -= part;
    }
    return true;
}

/* A run of records gets its numbers. */
static uint64_t put_numbers(char *bytes, size_t size, uint64_t number)
{
    struct record record;

    for (size_t at = 0; at < size; at += record_size(&record)) {
        memcpy(&record, bytes + at, sizeof record);
        record.number = ++number;
        memcpy(bytes + at, &record, sizeof record);
        record.check = check_of(bytes + at, record_size(&record));
        memcpy(bytes + at, &record, sizeof record);
    }
    return number;
}

static bool move_to_ring(struct hf_sq *sq, const char *bytes, size_t size)
{
    if (size > ring_size(sq->head.kept) || !write_bytes(sq, sq->head.end, bytes, size))
        return false;
    sq->head.end += size;
    return true;
}

bool hf_sq_records_load(struct hf_sq *sq)
{
    struct hf_sq_head head;

    assert(sq->live.taken);
    if (!sq->records.is_read)
        sq->records.is_read =
            sq->head.recent == 0 || hf_sq_page_read(&sq->live, &head, sq->records.recent);
    return sq->records.is_read;
}

void hf_sq_records_make_room(struct hf_sq *sq)
{
    const struct hf_sq_records *all = &sq->records;

    if (all->size == 0 || sq->head.recent + all->size <= HF_SQ_RECENT)
        return;
    if (hf_sq_records_load(sq) && move_to_ring(sq, all->recent, sq->head.recent))
        sq->head.recent = 0;
}

bool hf_sq_records_take(struct hf_sq *sq)
{
    struct hf_sq_records *all = &sq->records;

    assert(sq->live.taken);
    if (all->size == 0 || !hf_sq_records_load(sq))
        return false;
    uint64_t last = put_numbers(all->bytes, all->size, sq->head.number);
    if (sq->head.recent + all->size <= HF_SQ_RECENT) {
        memcpy(all->recent + sq->head.recent, all->bytes, all->size);
        sq->head.recent += all->size;
    } else if (sq->head.recent > 0 || !move_to_ring(sq, all->bytes, all->size)) {
        return false;
    }
    sq->head.number = last;
    return true;
}

/* ---- Reading -------------------------------------------------------------------- */

static bool read_bytes(const struct hf_sq *sq, uint64_t at, char *bytes, size_t size)
{
    uint64_t ring = ring_size(sq->head.kept);

    while (size > 0) {
        uint64_t where = at % ring;
        size_t   part = size < ring - where ? size : (size_t)(ring - where);
        if (pread(sq->live.gate, bytes, part, (off_t)(START + where)) != (ssize_t)part)
            return false;
        at += part;
        bytes += part;
        size -= part;
    }
    return true;
}

#define PIECE (4 * LONGEST) /* read at once */

/* A piece of the ring, read from its end. */
struct piece {
    uint64_t from, to; /* what of the ring it has */
    uint64_t first;    /* nothing before that is left */
    char     bytes[PIECE];
};

/* What is there before `end`, a record's length at least unless that is all; NULL: nothing. */
static const char *bytes_before(const struct hf_sq *sq, struct piece *piece, uint64_t end,
                                size_t *size)
{
    bool whole = piece->from == piece->first || end - piece->from >= LONGEST;

    if (piece->to == 0 || !whole) {
        piece->to = end;
        piece->from = end - piece->first > PIECE ? end - PIECE : piece->first;
        if (!read_bytes(sq, piece->from, piece->bytes, (size_t)(end - piece->from)))
            return NULL;
    }
    *size = (size_t)(end - piece->from);
    return piece->bytes;
}

/* The record that is the last of `size` bytes, if it is whole, and no newer than `number`;
 * else NULL. */
static const struct record *last_record(const char *bytes, size_t size, uint64_t number)
{
    struct tail tail;

    if (bytes == NULL || size < sizeof(struct record) + sizeof tail)
        return NULL;
    memcpy(&tail, bytes + size - sizeof tail, sizeof tail);
    if (tail.mark != MARK || tail.size % 8 != 0 || tail.size > size ||
        tail.size < sizeof(struct record) + sizeof tail)
        return NULL;
    bytes += size - tail.size;
    const struct record *record = (const struct record *)(const void *)bytes;
    if (record_size(record) != tail.size || record->number == 0 ||
        record->number > number || record->check != check_of(bytes, tail.size))
        return NULL;
    const char *text = bytes + sizeof *record;
    size_t      note = (size_t)record->line + 1, reason = note + record->note + 1;
    bool        ended = text[note - 1] == '\0' && text[reason - 1] == '\0' &&
                 text[reason + record->reason] == '\0';
    return ended ? record : NULL;
}

static int add_past(struct hf_sq *sq, const struct record *record, size_t count)
{
    const char     *line = (const char *)(record + 1);
    const char     *note = line + record->line + 1, *reason = note + record->note + 1;
    struct hf_past *grown = hf_grow(sq->past, &sq->past_room, count + 1, sizeof *grown);

    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    sq->past = grown;
    grown[count] = (struct hf_past){
        .number = record->number,
        .time = record->time,
        .what = record->what,
        .line = hf_sq_keep_text(sq, (const unsigned char *)line),
        .token = record->token,
        .shape = hf_shape_read(record->weight, record->capacity, record->claim != 0),
        .slot = record->slot,
        .note = hf_sq_keep_text(sq, (const unsigned char *)note),
        .reason = hf_sq_keep_text(sq, (const unsigned char *)reason),
    };
    if (grown[count].line == NULL || grown[count].note == NULL ||
        grown[count].reason == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    return 0;
}

/* What is asked for, while records are gone through. */
struct search {
    const char *line;   /* NULL: all */
    uint64_t    oldest; /* nothing up to that is wanted */
    uint64_t    number; /* no newer one comes */
    size_t      count;
};

/* True: go on to the one before. */
static bool take_record(struct hf_sq *sq, struct search *search,
                        const struct record *record, int *r)
{
    if (record == NULL || record->number <= search->oldest)
        return false;
    search->number = record->number - 1;
    if (search->line != NULL && strcmp((const char *)(record + 1), search->line) != 0)
        return true;
    *r = add_past(sq, record, search->count);
    search->count += *r == 0;
    return *r == 0;
}

static int search_recent(struct hf_sq *sq, struct search *search)
{
    size_t left = sq->head.recent;
    int    r = 0;

    for (;;) {
        const struct record *record =
            last_record(sq->records.recent, left, search->number);
        if (!take_record(sq, search, record, &r))
            return r;
        left -= record_size(record);
    }
}

static int search_ring(struct hf_sq *sq, struct search *search)
{
    uint64_t      ring = ring_size(sq->head.kept), end = sq->head.end;
    struct piece *piece = malloc(sizeof *piece);
    int           r = 0;

    if (piece == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    piece->from = piece->to = 0;
    piece->first = end > ring ? end - ring : 0;
    for (;;) {
        size_t               size = 0;
        const char          *bytes = bytes_before(sq, piece, end, &size);
        const struct record *record = last_record(bytes, size, search->number);
        if (!take_record(sq, search, record, &r))
            break;
        end -= record_size(record);
    }
    free(piece);
    return r;
}

int hf_sq_ring_read(struct hf_sq *sq, const char *line, uint64_t after, size_t *ret)
{
    const struct hf_sq_head *head = &sq->head;
    uint64_t      kept = head->number > head->kept ? head->number - head->kept : 0;
    struct search search = { line, after > kept ? after : kept, head->number, 0 };

    hf_sq_forget_texts(sq);
    int r = sq->records.is_read ? search_recent(sq, &search) : 0;
    if (r == 0)
        r = search_ring(sq, &search);
    for (size_t i = 0; i < search.count / 2; i++) {
        struct hf_past past = sq->past[i];
        sq->past[i] = sq->past[search.count - 1 - i];
        sq->past[search.count - 1 - i] = past;
    }
    *ret = search.count;
    return r;
}

/* ---- Another size --------------------------------------------------------------- */

/* Numbers are never given again, whatever is forgotten. */
int hf_sq_ring_resize(struct hf_sq *sq, uint64_t keep)
{
    uint64_t last = sq->head.number;
    size_t   count = 0;
    int      r = 0;

    assert(sq->live.taken && keep <= HF_SQ_KEPT_MAX);
    if (keep > 0 && sq->head.kept > 0 && hf_sq_records_load(sq))
        r = hf_sq_ring_read(sq, NULL, last > keep ? last - keep : 0, &count);
    sq->head.kept = keep;
    sq->head.end = sq->head.recent = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        sq->records.size = 0;
        r = hf_sq_records_add(sq, &sq->past[i]);
        put_numbers(sq->records.bytes, sq->records.size, sq->past[i].number - 1);
        if (r == 0 && !move_to_ring(sq, sq->records.bytes, sq->records.size))
            break; /* the disk is full: without those */
    }
    sq->records.size = 0;
    off_t size = keep > 0 ? (off_t)(START + ring_size(keep)) : (off_t)sizeof sq->head;
    if (r == 0 && ftruncate(sq->live.gate, size) < 0)
        r = hf_sq_fail(sq, HF_EFULL, "cannot write to %.160s", sq->files.live);
    if (r == 0 && !hf_sq_head_write(&sq->live, &sq->head))
        r = hf_sq_fail(sq, HF_EFULL, "cannot write to %.160s", sq->files.live);
    return r;
}
