/* list.c - LIST: every living place of one line, or of all lines; and the stamp of a
 * line. */
#include "store/sqlite/db/db.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/link.h"

#include "base/grow.h"
#include "holdfast.h"

#include <stdlib.h>
#include <string.h>

/* ---- Answers that are lent out ----------------------------------------------- */

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

static int add_place(struct hf_sq *sq, size_t count, const struct hf_sq_row *row,
                     sqlite3_stmt *query)
{
    struct hf_place *grown =
        hf_grow(sq->place, &sq->place_room, count + 1, sizeof *grown);

    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    sq->place = grown;
    grown[count] = (struct hf_place){
        .seq = row->seq,
        .token = row->seq,
        .shape = row->shape,
        .slot = row->slot,
        .since = row->granted != 0 ? row->granted : row->queued,
        .left = INT64_MAX, /* as long as its process lives */
        .line = hf_sq_keep_text(sq, sqlite3_column_text(query, 8)),
        .note = hf_sq_keep_text(sq, sqlite3_column_text(query, 9)),
    };
    if (grown[count].line == NULL || grown[count].note == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    return 0;
}

/* ---- The line ---------------------------------------------------------------- */

/* FNV-1a of all that can change about a place. */
uint64_t hf_sq_stamp(uint64_t stamp, const struct hf_sq_row *row)
{
    uint64_t number[] = { row->seq, row->granted != 0, row->shape.weight };
    uint64_t hash = stamp != 0 ? stamp : UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < 3; i++)
        for (int byte = 0; byte < 8; byte++)
            hash = (hash ^ (number[i] >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
    return hash != 0 ? hash : 1; /* 0 means unknown */
}

static int list_rows(struct hf_sq *sq, sqlite3_stmt *query, struct hf_req *req)
{
    uint64_t stamp = hf_sq_stamp(0, &(struct hf_sq_row){ 0 });
    size_t   count = 0;
    int      r;

    hf_sq_forget_texts(sq);
    while ((r = hf_sq_db_step(&sq->db, query)) == 1) {
        struct hf_sq_row row;
        hf_sq_row_read(query, &row);
        if (!hf_sq_is_alive(sq, row.seq))
            continue;
        r = add_place(sq, count, &row, query);
        if (r < 0)
            break;
        stamp = hf_sq_stamp(stamp, &row);
        count++;
    }
    sqlite3_reset(query);
    if (r < 0)
        return r;
    req->line = (struct hf_line){ sq->place, count };
    req->stamp = stamp;
    return 0;
}

int hf_sq_list(struct hf_sq *sq, struct hf_req *req)
{
    int r = hf_sq_connect(sq, false);

    if (r == HF_ENOTFOUND) { /* there are no files yet */
        req->stamp = hf_sq_stamp(0, &(struct hf_sq_row){ 0 });
        return 0;
    }
    if (r < 0)
        return r;
    if (!hf_sq_is_current(sq))
        return HF_SQ_STALE;
    sqlite3_stmt *query = req->name != NULL
                              ? hf_sq_db_bind(&sq->db, HF_SQ_LINE, req->name, 0)
                              : hf_sq_db_query(&sq->db, HF_SQ_ALL);
    return list_rows(sq, query, req);
}
