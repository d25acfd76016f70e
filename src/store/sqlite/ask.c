/* ask.c - ASK: leaving word at a place that somebody would like it to be given up.
 *
 * The word stays in its own table when the ticket goes, so that leaving costs nothing more.
 * The next one who leaves a word clears such words away.
 */
#include "store/sqlite/inner.h"

static int write_asked(struct hf_sq *sq, const struct hf_req *req)
{
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_ASK, req->name, req->token);

    sqlite3_bind_text(query, 3, req->note != NULL ? req->note : "", -1, SQLITE_STATIC);
    return hf_sq_db_step(&sq->db, query);
}

static int leave_word(struct hf_sq *sq, const struct hf_req *req,
                      const struct hf_sq_row *row)
{
    int r = hf_sq_db_run(&sq->db, HF_SQ_UNASK);
    if (r == 0)
        r = write_asked(sq, req);
    if (r == 0)
        r = hf_sq_record(sq, req->name, row->seq, HF_PAST_ASKED,
                         req->note != NULL ? req->note : "");
    return r < 0 ? r : hf_sq_tell(sq, row->sid, row->seq);
}

int hf_sq_ask(struct hf_sq *sq, struct hf_req *req)
{
    return hf_sq_change_place(sq, req, leave_word);
}
