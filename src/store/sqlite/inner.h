/* inner.h - the store as its own files see it.
 *
 *   store.c    requests in, answers out; carry.c  one by one, or many in one transaction
 *   files.c    the files are made; paths.c  their names; trust.c  whose they are
 *   system.c   the store of the whole machine
 *   link.c     opening the files, the session, losing it
 *   patrol.c   noticing that the files were deleted, moved or replaced
 *   write.c    one transaction, behind the gate
 *   rows.c     reading a line, who in it is alive, and who is in the way
 *   read.c     how our own place stands
 *   place.c    writing a place down, and removing it; the sum of a line
 *   grant.c    after a departure: who is granted, who is told
 *   sweep.c    clearing away what the dead left
 *   fifo.c     how a session is told, and how it hears
 *   peer.c     the sessions we wait for, and their death
 *   past.c     what happened is written down
 *   will.c     ending a session from another process
 *   vfs.c, shm.c, index.c  SQLite's files
 *   ulimit.c   a limit for the size of files is an error, not our end
 *
 * The verbs are in the files of their names: enter.c, watch.c, leave.c, list.c, break.c (and
 * ASK), amend.c, prove.c, examine.c, survey.c, and past.c for HISTORY.
 *
 * Functions return 0 or HF_E..., with the text in base.errmsg.
 */
#ifndef HF_SQLITE_INNER_H
#define HF_SQLITE_INNER_H

#include "store/findings.h"
#include "store/requests.h"
#include "store/sqlite/db.h"
#include "store/sqlite/files.h"
#include "store/sqlite/live.h"
#include "store/sqlite/own.h"
#include "store/sqlite/past.h"
#include "store/sqlite/peer.h"
#include "store/sqlite/survey.h"
#include "store/store.h"

/* The files are not those we opened: hf_sq_outdated() is due.  This code and the next stay
 * inside the store: store.c turns them into one of holdfast.h. */
#define HF_SQ_STALE (-100)

/* The gate is shut: the request is carried out a little later. */
#define HF_SQ_SHUT (-101)

/* A place in a line, as it is written down. */
struct hf_sq_row {
    uint64_t        seq;
    uint64_t        sid;
    struct hf_shape shape;
    int64_t         queued;
    int64_t         granted; /* 0: not yet */
    int             slot;
    bool            proven; /* its byte was seen locked while we read the line */
};

/* Of a whole line; the dead count too, until somebody meets them.  See place.c. */
struct hf_sq_sum {
    bool             open;
    bool             changed; /* and not written yet */
    uint64_t         places, waits, weight;
    struct hf_sq_row last; /* seq is 0 if it is not known, or nobody is there */
};

struct hf_sq_rows {
    struct hf_sq_row *row;
    size_t            count, room;
};

struct hf_sq_text {
    struct hf_sq_text *next;
    char               text[];
};

/* What epoll tells us of; larger numbers are sessions. */
enum hf_sq_event { HF_SQ_EVENT_FIFO = 1, HF_SQ_EVENT_INOTIFY, HF_SQ_EVENT_WRITTEN };

/* What a will says: which session, in which PATH-live.  A path would not do: it may lead
 * somewhere else by now, or from another working directory. */
struct hf_sq_will {
    uint64_t sid;
    uint64_t device, inode;
};

struct hf_sq {
    struct hf_store base; /* base.fd is an epoll descriptor */
    unsigned        generation;
    hf_time         now; /* of the current process() */

    struct hf_requests waiting;  /* submitted */
    struct hf_requests finished; /* answered, done() not yet called */
    bool               cancels;  /* some request was canceled */
    bool               hurry;    /* a request is carried out: do not stand at the gate */
    bool               brief;    /* ... and it comes again, or can do without the gate */
    hf_time            shut;     /* since when the gate is shut; 0: it is not */
    bool               is_put_off; /* what waits: until the next process() */
    size_t             alone;      /* so many of those waiting share no transaction */

    struct hf_sq_files files;
    struct hf_sq_live  live;
    struct hf_sq_db    db;
    struct hf_sq_head  head;    /* as last read; its files are those we opened */
    hf_time            refused; /* since when we may not use them; 0: we may */
    uint64_t           boot;    /* of the machine */

    uint64_t          sid;      /* 0: no session yet */
    bool              willed;   /* somebody has its will */
    bool              ended;    /* and executed that: hf_sq_outdated() is due */
    struct hf_sq_will executes; /* sid 0, or the session that this store is to end */
    int               fifo;
    size_t            fifo_room;
    struct hf_sq_owns owns;

    struct hf_sq_watch *watches;
    hf_time             glance, glanced; /* when to look for outsiders; when we did */
    struct hf_sq_peer  *peers;
    struct hf_sq_news  *news;
    size_t              news_count, news_room;
    struct hf_sq_survey survey;

    int     inotify; /* -1: none */
    int     seat;    /* a low descriptor kept free for it; see patrol.c */
    hf_time patrol;  /* when to see whether the files are there */

    struct hf_sq_rows      rows;   /* of the line last read */
    struct hf_sq_rows      dead;   /* those found dead then */
    struct hf_sq_sum       sum;    /* of the line that is being changed */
    struct hf_ticket      *ticket; /* lent out by LIST */
    size_t                 ticket_room;
    struct hf_sq_text     *texts; /* its strings */
    struct hf_finding_list findings;

    bool            drawn; /* a number was drawn in this transaction */
    int             keep;  /* ?history=; -1: not given */
    struct hf_past *past;  /* the records lent out */
    size_t          past_room;
};

/* Write base.errmsg and return `code`. */
int hf_sq_fail(struct hf_sq *sq, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- store.c ---------------------------------------------------------------- */

/* A request is answered: done() will be called soon. */
void hf_sq_finish(struct hf_sq *sq, struct hf_req *req, int status);

/* Fail everything that was asked for. */
void hf_sq_finish_all(struct hf_sq *sq, int status);

/* ---- carry.c ---------------------------------------------------------------- */

/* Carry out the first of those waiting, and with it perhaps some more.  False if it must
 * wait at the gate, and so must all behind it. */
bool hf_sq_carry_out(struct hf_sq *sq);

/* ---- link.c ----------------------------------------------------------------- */

/* Open the files unless they are.  Without `make`: HF_ENOTFOUND if there are
 * none. */
int  hf_sq_connect(struct hf_sq *sq, bool make);
void hf_sq_disconnect(struct hf_sq *sq);

/* Have a session. */
int hf_sq_session(struct hf_sq *sq);

uint64_t hf_sq_hash(const char *text);

/* Is what we have open still the store?  Reads the head. */
bool hf_sq_current(struct hf_sq *sq);

/* Was our session ended by its will?  Also into sq->ended. */
bool hf_sq_is_ended(struct hf_sq *sq);

/* It is not, or our session was ended.  True if something was lost by it, and the link said so. */
bool hf_sq_outdated(struct hf_sq *sq);

/* ---- patrol.c --------------------------------------------------------------- */

void hf_sq_patrol_start(struct hf_sq *sq); /* there is something to lose now */
void hf_sq_patrol_stop(struct hf_sq *sq);
void hf_sq_patrol_notified(struct hf_sq *sq); /* inotify is readable */
void hf_sq_patrol_run(struct hf_sq *sq);      /* sq->patrol has come */

/* A ticket of ours is granted.  confirm() first sees whether the files are still there, or
 * answers HF_SQ_STALE; holder() is for where that is known. */
int  hf_sq_patrol_confirm(struct hf_sq *sq, const struct hf_sq_own *own);
void hf_sq_patrol_holder(struct hf_sq *sq);

/* ---- write.c ---------------------------------------------------------------- */

/* Take the gate.  HF_SQ_SHUT: somebody is inside, and the request comes back later.
 * HF_EDOWN: it is there for so long that it must have been stopped. */
int hf_sq_gate(struct hf_sq *sq);

/* begin() takes the gate, and commit() and abort() give it back.  commit() also tells the
 * news; if it fails, it has aborted.  end() commits if `r`, how it went until there, is 0. */
int  hf_sq_begin(struct hf_sq *sq);
int  hf_sq_commit(struct hf_sq *sq);
void hf_sq_abort(struct hf_sq *sq);
int  hf_sq_end(struct hf_sq *sq, int r);

/* Write sq->head down, with the gate taken. */
int hf_sq_write_head(struct hf_sq *sq);

/* Write the log back to the database: else a COMMIT does that, when it is long.  `last`: before
 * closing, unless it is short, so that the next client has little to read. */
void hf_sq_write_back(struct hf_sq *sq, bool last);

/* Draw the number of a new ticket: 1 if there is one to be had.  Begin, and draw one. */
int hf_sq_draw(struct hf_sq *sq, uint64_t *ret);
int hf_sq_begin_drawn(struct hf_sq *sq, uint64_t *ret);

/* ---- rows.c ----------------------------------------------------------------- */

void hf_sq_row_read(sqlite3_stmt *query, struct hf_sq_row *ret);
int  hf_sq_rows_add(struct hf_sq *sq, struct hf_sq_rows *rows,
                    const struct hf_sq_row *row);

/* Is the ticket of a row alive? */
bool hf_sq_is_alive(const struct hf_sq *sq, uint64_t seq);

/* One ticket: 1 if it is there, 0 if not. */
int hf_sq_row_find(struct hf_sq *sq, const char *line, uint64_t seq,
                   struct hf_sq_row *ret);

/* How many are ahead of a ticket, the dead included. */
int hf_sq_count_ahead(struct hf_sq *sq, const char *line, uint64_t seq, uint64_t *ret);

/* The living of a line into sq->rows, the dead into sq->dead; the stamp of the living. */
int hf_sq_rows_all(struct hf_sq *sq, const char *line, uint64_t *stamp);

/* Does a ticket of that shape pass those ahead of `before`?  As many of them as decide, the
 * nearest first, are in sq->rows then.  Dead ones in the way are left out, and noted in
 * sq->dead. */
struct hf_sq_view {
    enum hf_verdict verdict;
    bool            alone; /* the last of sq->rows decides by itself */
};
int hf_sq_judge(struct hf_sq *sq, const char *line, uint64_t before,
                const struct hf_shape *shape, struct hf_sq_view *ret);

/* The code and the words for a line in which nobody can wait; 0 if it is not that. */
int hf_sq_misfit(struct hf_sq *sq, const char *line, const struct hf_sq_view *view);

/* One more whose end matters; in `own`, those of sq->rows of which one must go first. */
int hf_sq_tie(struct hf_sq *sq, struct hf_sq_ties *ties, const struct hf_sq_row *row);
int hf_sq_keep_ahead(struct hf_sq *sq, struct hf_sq_own *own,
                     const struct hf_sq_view *view);

/* ---- place.c: inside a transaction ------------------------------------------------ */

int hf_sq_place_add(struct hf_sq *sq, const struct hf_req *req,
                    const struct hf_sq_row *row);
int hf_sq_place_grant(struct hf_sq *sq, const char *line, const struct hf_sq_row *row);
int hf_sq_place_lessen(struct hf_sq *sq, const char *line, const struct hf_sq_row *row,
                       uint32_t weight);

/* 1 if it was there. */
int hf_sq_place_remove(struct hf_sq *sq, const char *line, uint64_t seq);

/* Have the sum of a line in sq->sum; write down what changed of it. */
int hf_sq_sum_open(struct hf_sq *sq, const char *line);
int hf_sq_sum_close(struct hf_sq *sq, const char *line);

/* All of a session are removed, and their lines told. */
int hf_sq_places_end(struct hf_sq *sq, uint64_t sid);

/* ---- grant.c, sweep.c: inside a transaction ------------------------------------ */

/* The ticket `seq` has been removed from the line, or weighs less than before: grant what
 * fits now, and have all told whom that concerns. */
int hf_sq_made_room(struct hf_sq *sq, const char *line, uint64_t seq);

/* Remove those in sq->dead from the line. */
int hf_sq_sweep(struct hf_sq *sq, const char *line);

/* 1 if so many wait in the line; the dead, if it looks like that, are removed and
 * do not count. */
int hf_sq_is_full(struct hf_sq *sq, const char *line, uint64_t limit);

/* Remove every dead ticket of the store. */
int hf_sq_sweep_all(struct hf_sq *sq);

/* Remove the dead tickets of one line, or of all (NULL), if there are any; in a transaction of
 * its own. */
int hf_sq_sweep_now(struct hf_sq *sq, const char *line);

/* Have those behind `seq` told for whom it may have been in the way.  Also works outside
 * a transaction. */
int hf_sq_tell_followers(struct hf_sq *sq, const char *line, uint64_t seq);

/* The lowest slot that none of sq->rows has. */
int hf_sq_free_slot(struct hf_sq *sq, int *ret);

/* ---- The verbs, and what they share ------------------------------------------- */

int hf_sq_enter(struct hf_sq *sq, struct hf_req *req);
int hf_sq_leave(struct hf_sq *sq, struct hf_req *req);
int hf_sq_break(struct hf_sq *sq, struct hf_req *req);
int hf_sq_list(struct hf_sq *sq, struct hf_req *req);
int hf_sq_amend(struct hf_sq *sq, struct hf_req *req);
int hf_sq_ask(struct hf_sq *sq, struct hf_req *req);
int hf_sq_prove(struct hf_sq *sq, struct hf_req *req);
int hf_sq_examine(struct hf_sq *sq, struct hf_req *req);

/* Inside a transaction: take a place with that number.  `req` has the answer then, and what
 * is not in the database is undone by undo(). */
int  hf_sq_enter_inside(struct hf_sq *sq, struct hf_req *req, uint64_t number,
                        struct hf_sq_own **ret);
void hf_sq_enter_undo(struct hf_sq *sq, struct hf_sq_own *own);

/* The same for giving one up: 1, or 0 if it is not there any more. */
int hf_sq_leave_inside(struct hf_sq *sq, const struct hf_sq_own *own);

/* Let go of the byte and forget the place: given up, or taken from us, whatever the database
 * says. */
void hf_sq_own_over(struct hf_sq *sq, struct hf_sq_own *own, bool lost);

/* Give up every ticket, as far as that can be done. */
void hf_sq_leave_all(struct hf_sq *sq);

/* Strings lent out with an answer.  NULL: no memory. */
const char *hf_sq_keep_text(struct hf_sq *sq, const unsigned char *text);
void        hf_sq_forget_texts(struct hf_sq *sq);

/* See hf_req.stamp: of a line, made of its living places, one by one, starting with 0. */
uint64_t hf_sq_stamp(uint64_t stamp, const struct hf_sq_row *row);

/* ---- read.c ------------------------------------------------------------------- */

extern const struct hf_standing hf_sq_no_place;

/* How a place of ours stands now, into own->last: 1; or 0 if it was taken from us, and then it
 * is freed.  Answer with that; `own` may be NULL. */
int hf_sq_read_own(struct hf_sq *sq, struct hf_sq_own *own);
int hf_sq_answer_own(struct hf_sq *sq, struct hf_sq_own *own, struct hf_req *req);

/* ---- watch.c ------------------------------------------------------------------ */

/* Take a WATCH on.  True: it stays; else it is answered with *status. */
bool hf_sq_watch(struct hf_sq *sq, struct hf_req *req, int *status);

/* Take one on without touching a file: of a holder that knows how it stands, and has heard no
 * news.  False: it is not such a one. */
bool hf_sq_watch_rests(struct hf_sq *sq, struct hf_req *req);

/* End one that was canceled, if it was taken on; all; that of a ticket which is no more. */
bool hf_sq_watch_cancel(struct hf_sq *sq, struct hf_req *req);
void hf_sq_watches_drop(struct hf_sq *sq);
void hf_sq_watch_gone(struct hf_sq *sq, struct hf_sq_own *own);

/* We were told about a ticket; 0: about something, we do not know what.  HF_SQ_ENDED, which no
 * ticket has: our session was ended by its will. */
#define HF_SQ_ENDED ((uint64_t)INT64_MAX)
void hf_sq_hear(struct hf_sq *sq, uint64_t about);

/* The log was written to, or it is time to look whether it was.  False: no WATCH is about that. */
bool hf_sq_watches_written(struct hf_sq *sq);

/* The session `sid` may have died, or lost a place: what waited for that looks again.  True if
 * anything still waits for it. */
bool hf_sq_watches_check(struct hf_sq *sq, uint64_t sid);

/* ---- will.c ------------------------------------------------------------------- */

/* See struct hf_store_impl; and config->will, checked. */
int hf_sq_will(struct hf_store *store, void *ret);
int hf_sq_will_read(struct hf_sq *sq, const struct hf_config *config);

/* Try to end the session that this store executes the will of. */
void hf_sq_execute(struct hf_sq *sq);

#endif
