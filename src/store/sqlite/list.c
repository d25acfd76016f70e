/* list.c - LIST: every living place of one line, or of all. */
#include "store/sqlite/inner.h"

#include "holdfast.h"

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
        r = hf_sq_answer_add(sq, count, &row, query);
        if (r < 0)
            break;
        stamp = hf_sq_stamp(stamp, &row);
        count++;
    }
    sqlite3_reset(query);
    if (r < 0)
        return r;
    req->snapshot = (struct hf_line){ sq->ticket, count };
    req->me = count;
    req->stamp = stamp;
    return 0;
}

int hf_sq_list(struct hf_sq *sq, struct hf_req *req)
{
    int r = hf_sq_connect(sq, false);

    if (r == HF_ENOTFOUND) { /* nobody was ever here */
        req->stamp = hf_sq_stamp(0, &(struct hf_sq_row){ 0 });
        return 0;
    }
    if (r < 0)
        return r;
    if (!hf_sq_current(sq))
        return HF_SQ_STALE;
    sqlite3_stmt *query = req->name != NULL
                              ? hf_sq_db_bind(&sq->db, HF_SQ_LINE, req->name, 0)
                              : hf_sq_db_query(&sq->db, HF_SQ_ALL);
    return list_rows(sq, query, req);
}
