/* ahead.c - how many places are ahead of ours, for waiters that follow that.
 *
 * A change of the line concerns all waiters of this session that follow it.  One of them reads
 * the line for all: what each of them costs must not grow with their number.
 *
 *     STALE --read--> FRESH --the database has changed, or a session in the line died--> STALE
 *
 * What was read is as old as `version`, which SQLite counts up with every commit of anybody.
 * A session that dies commits nothing, so all sessions in the line are watched.
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/line/own.h"
#include "store/sqlite/wake/wake.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hf_sq_ahead {
    char               *line; /* its name */
    bool                fresh;
    bool                sound; /* no dead or invalid place is left in it */
    bool                waits; /* see hf_sq_ahead_check() */
    unsigned            version;
    struct hf_sq_rows   rows; /* by their numbers */
    size_t              followers;
    struct hf_sq_ahead *next, **prev; /* in sq->ahead */
};

/* ---- Joining and leaving ----------------------------------------------------------- */

static struct hf_sq_ahead *new_ahead(struct hf_sq *sq, const char *line)
{
    struct hf_sq_ahead *ahead = calloc(1, sizeof *ahead);

    if (ahead == NULL || (ahead->line = strdup(line)) == NULL) {
        free(ahead);
        return NULL;
    }
    ahead->next = sq->ahead;
    ahead->prev = &sq->ahead;
    if (ahead->next != NULL)
        ahead->next->prev = &ahead->next;
    sq->ahead = ahead;
    return ahead;
}

static int join(struct hf_sq *sq, struct hf_sq_own *own)
{
    struct hf_sq_ahead *ahead = sq->ahead;

    if (own->ahead != NULL)
        return 0;
    while (ahead != NULL && strcmp(ahead->line, own->line) != 0)
        ahead = ahead->next;
    if (ahead == NULL && (ahead = new_ahead(sq, own->line)) == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    ahead->followers++;
    own->ahead = ahead;
    return 0;
}

void hf_sq_ahead_leave(struct hf_sq_own *own)
{
    struct hf_sq_ahead *ahead = own->ahead;

    own->ahead = NULL;
    if (ahead == NULL || --ahead->followers > 0)
        return;
    *ahead->prev = ahead->next;
    if (ahead->next != NULL)
        ahead->next->prev = ahead->prev;
    free(ahead->rows.row);
    free(ahead->line);
    free(ahead);
}

/* ---- Reading ----------------------------------------------------------------------- */

/* Of the last transaction, read or write, that this client began. */
static unsigned data_version(struct hf_sq *sq)
{
    unsigned version = 0;

    sqlite3_file_control(sq->db.handle, NULL, SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

/* Watch every session in the line.  One that died just before is noticed now: then the line is
 * read again. */
static int watch_sessions(struct hf_sq *sq, struct hf_sq_ahead *ahead)
{
    for (size_t i = 0; i < ahead->rows.count; i++) {
        const struct hf_sq_row *row = &ahead->rows.row[i];
        ahead->sound &= !hf_shape_invalid(&row->shape);
        if (row->sid == sq->sid)
            continue;
        int r = hf_sq_peer_watch(sq, row->sid);
        if (r < 0)
            return r;
        ahead->fresh &= hf_sq_is_alive(sq, row->seq);
    }
    return 0;
}

/* First remove dead places, which must not count.  If that fails, each waiter reads by
 * itself what is ahead of it. */
static int read_line(struct hf_sq *sq, struct hf_sq_ahead *ahead)
{
    uint64_t stamp;

    hf_sq_log_listen(sq); /* first: we hear of later changes */
    int r = hf_sq_sweep_now(sq, ahead->line);
    if (r == HF_SQ_STALE || r == HF_SQ_LOCKED)
        return r;
    r = hf_sq_rows_all(sq, ahead->line, &stamp);
    if (r < 0)
        return r;
    struct hf_sq_rows old = ahead->rows;
    ahead->rows = sq->rows;
    sq->rows = old;
    sq->rows.count = 0;
    ahead->version = data_version(sq);
    ahead->fresh = true;
    ahead->sound = sq->dead.count == 0;
    return watch_sessions(sq, ahead);
}

static int compare_rows(const void *a, const void *b)
{
    uint64_t one = ((const struct hf_sq_row *)a)->seq;
    uint64_t other = ((const struct hf_sq_row *)b)->seq;

    return one < other ? -1 : one > other;
}

int hf_sq_ahead_read(struct hf_sq *sq, struct hf_sq_own *own, uint64_t *ret)
{
    struct hf_sq_row mine;

    int r = join(sq, own);
    if (r == 0)
        r = hf_sq_row_find(sq, own->line, own->seq, &mine); /* begins a transaction */
    if (r <= 0)
        return r;
    struct hf_sq_ahead *ahead = own->ahead;
    if (!ahead->fresh || ahead->version != data_version(sq))
        r = read_line(sq, ahead);
    if (r < 0 || !ahead->sound || own->woken)
        return r < 0 ? r : 0;
    struct hf_sq_row *row =
        bsearch(&mine, ahead->rows.row, ahead->rows.count, sizeof mine, compare_rows);
    if (row == NULL || row->granted != 0 || row == ahead->rows.row)
        return 0;
    *ret = (uint64_t)(row - ahead->rows.row);
    return 1;
}

/* ---- Deaths ------------------------------------------------------------------------ */

void hf_sq_ahead_check(struct hf_sq *sq, uint64_t sid)
{
    for (struct hf_sq_ahead *ahead = sq->ahead; ahead != NULL; ahead = ahead->next) {
        ahead->waits = false;
        for (size_t i = 0; i < ahead->rows.count; i++) {
            if (ahead->rows.row[i].sid != sid)
                continue;
            bool alive = hf_sq_is_alive(sq, ahead->rows.row[i].seq);
            ahead->waits |= alive;
            ahead->fresh &= alive;
        }
    }
}

void hf_sq_ahead_unwatched(struct hf_sq *sq)
{
    for (struct hf_sq_ahead *ahead = sq->ahead; ahead != NULL; ahead = ahead->next)
        ahead->fresh &= !ahead->waits;
}

bool hf_sq_ahead_is_stale(const struct hf_sq_own *own, bool *waits)
{
    if (own->ahead == NULL)
        return false;
    *waits |= own->ahead->waits;
    return !own->ahead->fresh;
}

void hf_sq_ahead_forget(struct hf_sq_own *own)
{
    if (own->ahead != NULL)
        own->ahead->fresh = false;
}
