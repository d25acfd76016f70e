/* sweep.c - removing the places of dead sessions.
 *
 * In a line that is used, the clients that meet dead places remove them.  In other lines
 * the next session that starts after a death does so.
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Lines in one sweep; the next one finds the rest. */
#define LINES_MAX 1000

struct lines {
    char  *name[LINES_MAX];
    size_t count;
};

static int note_line(struct hf_sq *sq, struct lines *lines, const char *name)
{
    assert(lines->count < LINES_MAX);
    bool known = name != NULL && lines->count > 0 &&
                 strcmp(lines->name[lines->count - 1], name) == 0;

    if (known)
        return 0;
    char *copy = name != NULL ? strdup(name) : NULL;
    if (copy == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    lines->name[lines->count++] = copy;
    return 0;
}

/* The lines in which places are dead, of the rows of a query such as ALL. */
static int find_lines(struct hf_sq *sq, sqlite3_stmt *query, struct lines *lines)
{
    int r = 0;

    while (lines->count < LINES_MAX && (r = hf_sq_db_step(&sq->db, query)) == 1) {
        struct hf_sq_row row;
        hf_sq_row_read(query, &row);
        if (hf_sq_is_alive(sq, row.seq))
            continue;
        r = note_line(sq, lines, (const char *)sqlite3_column_text(query, 8));
        if (r < 0)
            break;
    }
    sqlite3_reset(query);
    return r < 0 ? r : 0;
}

static int sweep_line(struct hf_sq *sq, const char *line)
{
    uint64_t stamp;

    assert(sq->live.locked); /* dead places that we find stay until we remove them */
    int r = hf_sq_rows_all(sq, line, &stamp);
    return r < 0 ? r : hf_sq_sweep(sq, line);
}

int hf_sq_is_full(struct hf_sq *sq, const char *line, uint64_t limit)
{
    assert(limit != 0); /* 0: no limit */
    int r = hf_sq_total_open(sq, line);

    if (r < 0 || sq->total.waits < limit)
        return r;
    r = sweep_line(sq, line);
    if (r == 0)
        r = hf_sq_total_open(sq, line);
    return r < 0 ? r : sq->total.waits >= limit;
}

static struct lines *new_lines(struct hf_sq *sq)
{
    struct lines *lines = calloc(1, sizeof *lines);

    if (lines == NULL)
        hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    return lines;
}

static void free_lines(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->name[i]);
    free(lines);
}

static int sweep_lines(struct hf_sq *sq, const struct lines *lines)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < lines->count; i++)
        r = sweep_line(sq, lines->name[i]);
    return r;
}

int hf_sq_sweep_all(struct hf_sq *sq)
{
    assert(sq->live.locked && sq->sid != 0);
    struct lines *lines = new_lines(sq);
    if (lines == NULL)
        return HF_ENOMEM;

    int r = find_lines(sq, hf_sq_db_query(&sq->db, HF_SQ_ALL), lines);
    if (r == 0)
        r = sweep_lines(sq, lines);
    free_lines(lines);
    return r;
}

/* ---- In a transaction of its own --------------------------------------------- */

static int sweep_found(struct hf_sq *sq, const struct lines *lines)
{
    int r = hf_sq_begin(sq);

    return r < 0 ? r : hf_sq_end(sq, sweep_lines(sq, lines));
}

/* First read without the write lock: mostly there is nothing to do. */
int hf_sq_sweep_now(struct hf_sq *sq, const char *line)
{
    sqlite3_stmt *query = line != NULL ? hf_sq_db_bind(&sq->db, HF_SQ_LINE, line, 0)
                                       : hf_sq_db_query(&sq->db, HF_SQ_ALL);
    struct lines *lines = new_lines(sq);
    if (lines == NULL)
        return HF_ENOMEM;

    int r = find_lines(sq, query, lines);
    if (r == 0 && lines->count > 0)
        r = sweep_found(sq, lines);
    free_lines(lines);
    return r;
}
