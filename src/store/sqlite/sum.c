/* sum.c - see sum.h. */
#include "store/sqlite/inner.h"

#include "holdfast.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* To keep a tally costs about as much as to count so many; it is given up when the line is
 * half as long. */
#define LONG  48
#define SHORT (LONG / 2)

/* ---- Counting ------------------------------------------------------------------- */

int hf_sq_sum_up(struct hf_sq *sq, const char *line, uint64_t seq)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_SUM, line, seq);

    int r = hf_sq_db_step(&sq->db, query);
    if (r < 0)
        return r;
    sq->sum = (struct hf_sq_sum){
        .count = (uint64_t)sqlite3_column_int64(query, 0),
        .ahead = (uint64_t)sqlite3_column_int64(query, 1),
        .waiting = (uint64_t)sqlite3_column_int64(query, 2),
        .weight = (uint64_t)sqlite3_column_int64(query, 3),
        .last = (uint64_t)sqlite3_column_int64(query, 4),
    };
    sqlite3_reset(query);
    return 0;
}

void hf_sq_sum_rows(struct hf_sq *sq, const struct hf_sq_row *mine)
{
    assert(mine->granted != 0); /* ahead of a waiter some are left out */
    sq->sum = (struct hf_sq_sum){ .count = sq->rows.count + 1,
                                  .ahead = sq->rows.count,
                                  .weight = mine->shape.weight,
                                  .last = mine->seq };
    for (size_t i = 0; i < sq->rows.count; i++) {
        sq->sum.weight += sq->rows.row[i].shape.weight;
        sq->sum.waiting += sq->rows.row[i].granted == 0;
    }
}

/* ---- The tally ------------------------------------------------------------------- */

void hf_sq_sum_note(struct hf_sq *sq, int64_t count, int64_t waiting, int64_t weight)
{
    assert(sq->live.taken);
    sq->change.count += (uint64_t)count;
    sq->change.waiting += (uint64_t)waiting;
    sq->change.weight += (uint64_t)weight;
}

bool hf_sq_sum_is_noted(const struct hf_sq *sq)
{
    return (sq->change.count | sq->change.waiting | sq->change.weight) != 0;
}

void hf_sq_tally_read(struct hf_sq *sq, sqlite3_stmt *query, int column)
{
    const char      *text = (const char *)sqlite3_column_text(query, column);
    struct hf_sq_sum sum = { 0 };
    uint64_t         boot = 0;

    sq->tally = (struct hf_sq_tally){ .there = true };
    if (text != NULL &&
        sscanf(text, "%" SCNx64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &boot, &sum.count,
               &sum.waiting, &sum.weight) == 4 &&
        boot == sq->boot)
        sq->tally.sum = sum;
}

static int write_text(struct hf_sq *sq, const char *line, const struct hf_sq_sum *sum)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_TALLY, line, HF_SQ_TALLY_SID);
    char          text[96];

    snprintf(text, sizeof text, "%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64, sq->boot,
             sum->count, sum->waiting, sum->weight);
    sqlite3_bind_text(query, 3, text, -1, SQLITE_TRANSIENT);
    return hf_sq_db_step(&sq->db, query);
}

/* If more leave than there are, or more wait, somebody has edited the rows. */
static bool is_of_use(const struct hf_sq_sum *sum)
{
    return sum->count >= SHORT && sum->count <= INT64_MAX && sum->waiting <= sum->count;
}

int hf_sq_tally_write(struct hf_sq *sq, const char *line)
{
    struct hf_sq_sum *sum = &sq->tally.sum, change = sq->change;

    assert(sq->live.taken);
    sq->change = (struct hf_sq_sum){ 0 };
    if (!sq->tally.there)
        return 0;
    bool known = sum->count > 0;
    sum->count += change.count;
    sum->waiting += change.waiting;
    sum->weight += change.weight;
    if (known && is_of_use(sum))
        return write_text(sq, line, sum);
    sq->tally = (struct hf_sq_tally){ 0 };
    return hf_sq_db_step(&sq->db,
                         hf_sq_db_bind(&sq->db, HF_SQ_UNTALLY, line, HF_SQ_TALLY_SID));
}

/* Whoever changes the line must look for it from now on. */
static int begin_tally(struct hf_sq *sq, const char *line)
{
    int r = write_text(sq, line, &sq->sum);

    if (r == 0 && !sq->head.told) {
        sq->head.told = true;
        if (!hf_sq_head_write(&sq->live, &sq->head))
            r = hf_sq_fail(sq, HF_EFULL, "cannot write to %.160s", sq->files.live);
    }
    return r;
}

int hf_sq_sum_last(struct hf_sq *sq, const char *line, const struct hf_sq_row *mine)
{
    assert(sq->live.taken && !hf_sq_sum_is_noted(sq)); /* the tally has our place */
    if (sq->tally.there) {
        sq->sum = sq->tally.sum;
        sq->sum.ahead = sq->sum.count - 1;
        sq->sum.last = mine->seq;
        return 0;
    }
    int r = hf_sq_sum_up(sq, line, mine->seq);
    return r == 0 && sq->sum.count > LONG ? begin_tally(sq, line) : r;
}

int hf_sq_sum_outside(struct hf_sq *sq, const char *line)
{
    sqlite3_stmt *query = NULL;
    int           r = 0;

    sq->tally = (struct hf_sq_tally){ 0 };
    if (sq->head.told) {
        query = hf_sq_db_bind(&sq->db, HF_SQ_TALLIED, line, HF_SQ_TALLY_SID);
        r = hf_sq_db_step(&sq->db, query);
        if (r == 1)
            hf_sq_tally_read(sq, query, 0);
        sqlite3_reset(query);
    }
    if (r < 0 || sq->tally.sum.count == 0)
        return r < 0 ? r : hf_sq_sum_up(sq, line, INT64_MAX);
    sq->sum = sq->tally.sum;
    sq->sum.ahead = sq->sum.count;
    return 0;
}
