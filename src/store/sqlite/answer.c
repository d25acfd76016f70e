/* answer.c - what a request is answered: a snapshot of a line, and its stamp. */
#include "store/sqlite/inner.h"

#include "base/grow.h"
#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void hf_sq_clear_answer(struct hf_req *req)
{
    req->snapshot = (struct hf_line){ 0 };
    req->me = 0;
    req->ahead = 0;
    req->findings = 0;
    req->changes = 0;
    req->pasts = 0;
}

static int reserve_tickets(struct hf_sq *sq, size_t count)
{
    struct hf_ticket *grown = hf_grow(sq->ticket, &sq->ticket_room, count, sizeof *grown);

    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    sq->ticket = grown;
    return 0;
}

static struct hf_ticket ticket_of(const struct hf_sq_row *row)
{
    return (struct hf_ticket){
        .seq = row->seq,
        .token = row->seq,
        .shape = row->shape,
        .slot = row->slot,
        .since = row->granted != 0 ? row->granted : row->queued,
        .left = INT64_MAX, /* as long as its process */
        .asked = row->asked,
    };
}

int hf_sq_answer(struct hf_sq *sq, struct hf_req *req, const struct hf_sq_row *mine)
{
    size_t ahead = sq->rows.count;

    assert(mine == NULL || ahead == 0 || sq->rows.row[ahead - 1].seq < mine->seq);
    int r = reserve_tickets(sq, sq->lent + ahead + 1);
    if (r < 0)
        return r;
    struct hf_ticket *ticket = sq->ticket + sq->lent;
    for (size_t i = 0; i < ahead; i++)
        ticket[i] = ticket_of(&sq->rows.row[i]);
    if (mine != NULL)
        ticket[ahead] = ticket_of(mine);
    req->snapshot = (struct hf_line){ ticket, ahead + (mine != NULL) };
    req->me = ahead;
    req->ahead = sq->sum.ahead;
    if (mine != NULL && sq->sum.count > 0)
        req->stamp = hf_sq_sum_stamp(&sq->sum);
    return 0;
}

/* FNV-1a. */
static uint64_t mix(uint64_t stamp, const uint64_t *number, size_t count)
{
    uint64_t hash = stamp != 0 ? stamp : UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < count; i++)
        for (int byte = 0; byte < 8; byte++)
            hash = (hash ^ (number[i] >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
    return hash != 0 ? hash : 1; /* 0 means: not known */
}

/* What can change about a place. */
uint64_t hf_sq_stamp(uint64_t stamp, const struct hf_sq_row *row)
{
    uint64_t number[] = { row->seq, row->granted != 0, row->shape.weight };

    return mix(stamp, number, 3);
}

/* Whoever comes raises `last`, whoever goes lowers `count`. */
uint64_t hf_sq_sum_stamp(const struct hf_sq_sum *sum)
{
    uint64_t number[] = { sum->count, sum->waiting, sum->weight, sum->last };

    return mix(0, number, 4);
}

const char *hf_sq_keep_text(struct hf_sq *sq, const unsigned char *text)
{
    if (text == NULL) /* SQLite is out of memory */
        return NULL;
    size_t             size = strlen((const char *)text) + 1;
    struct hf_sq_text *kept = malloc(sizeof *kept + size);
    if (kept == NULL)
        return NULL;
    memcpy(kept->text, text, size);
    kept->next = sq->texts;
    sq->texts = kept;
    return kept->text;
}

void hf_sq_forget_texts(struct hf_sq *sq)
{
    while (sq->texts != NULL) {
        struct hf_sq_text *text = sq->texts;
        sq->texts = text->next;
        free(text);
    }
}

int hf_sq_answer_add(struct hf_sq *sq, size_t count, const struct hf_sq_row *row,
                     sqlite3_stmt *query)
{
    int r = reserve_tickets(sq, count + 1);
    if (r < 0)
        return r;
    struct hf_ticket *ticket = &sq->ticket[count];
    *ticket = ticket_of(row);
    ticket->line = hf_sq_keep_text(sq, sqlite3_column_text(query, 8));
    ticket->note = hf_sq_keep_text(sq, sqlite3_column_text(query, 9));
    if (ticket->line == NULL || ticket->note == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    return 0;
}
