/* inner.h - the store as its own files see it: struct hf_sq and the verbs.
 *
 *   here       the verbs, each in the file of its name (BREAK and ASK: others.c); store.c
 *              takes requests, batch.c carries them out, link.c opens and loses the files
 *   line/      the places of a line: alive or dead, blocked or granted
 *   wake/      how sessions wake each other, and how they notice that one died
 *   files/     PATH, PATH-live and PATH-wake: names, owners, locks, and noticing changes
 *   db/        SQLite: statements, transactions under the write lock, its log and index
 *   history/   what happened in the store: HISTORY and WATCH_STORE
 *
 * Functions return 0 or HF_E..., with the text in base.errmsg.
 */
#ifndef HF_SQLITE_INNER_H
#define HF_SQLITE_INNER_H

#include "store/findings.h"
#include "store/requests.h"
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/files.h"
#include "store/sqlite/files/live.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/line/own.h"
#include "store/store.h"

/* These two stay inside the store; batch.c turns them into codes of holdfast.h.
 * STALE: the files are no longer those that we opened; call hf_sq_lose_session().
 * LOCKED: another process has the write lock; the request is retried a little later. */
#define HF_SQ_STALE  (-100)
#define HF_SQ_LOCKED (-101)

/* A session key names the session and the inode of PATH-live.  A path would not do: it
 * may lead to another file by now, or from another working directory. */
struct hf_sq_session_key {
    uint64_t sid;
    uint64_t device, inode;
};

struct hf_sq {
    struct hf_store base; /* base.fd is an epoll descriptor */
    unsigned        generation;
    hf_time         now; /* of the current process() */

    struct hf_requests waiting;   /* submitted */
    struct hf_requests finished;  /* answered, done() not yet called */
    bool               cancels;   /* some request was canceled */
    bool               postponed; /* they wait until the next process() */
    size_t             unbatched; /* how many of them must not share a transaction */
    bool    can_retry;    /* the current request may wait for the write lock again */
    bool    fail_soon;    /* ... but not for long; see write.c */
    hf_time locked_since; /* when we first found it taken; 0: it is not */
    hf_time locked_for;   /* how long we have waited for it since then; see write.c */

    struct hf_sq_files  files;
    struct hf_sq_live   live;
    struct hf_sq_db     db;
    struct hf_sq_header header;  /* as last read; it names the files that we opened */
    hf_time             refused; /* since when we may not use them; 0: we may */
    uint64_t            boot;    /* of the machine */

    uint64_t                 sid;       /* 0: no session yet */
    bool                     key_given; /* its session key was handed out */
    bool                     ended;     /* by that key: hf_sq_lose_session() is due */
    struct hf_sq_session_key to_end;    /* the session that we are to end; sid 0: none */
    int                      fifo;
    size_t                   fifo_room;
    struct hf_sq_owns        owns;
    struct hf_sq_ahead      *ahead; /* the lines that they follow */

    struct hf_sq_watch      *watches;
    hf_time                  line_check, line_checked; /* of whole lines: next, last */
    struct hf_sq_peer       *peers;
    struct hf_sq_wakeup     *wakeups; /* to be sent after the commit */
    size_t                   wakeup_count, wakeup_room;
    struct hf_sq_watch_store store_watch;

    int     inotify;     /* -1: none */
    int     reserved_fd; /* a low descriptor kept free for it; see file_watch.c */
    hf_time file_check;  /* when to check that the files are still there */

    struct hf_sq_rows      rows;  /* of the line last read */
    struct hf_sq_rows      dead;  /* the dead places found then */
    struct hf_sq_total     total; /* of the line that is being changed */
    struct hf_place       *place; /* lent out by LIST */
    size_t                 place_room;
    struct hf_sq_text     *texts; /* its strings */
    struct hf_finding_list findings;

    bool                   drawn;   /* this transaction has drawn a number */
    int                    keep;    /* ?history=; -1: not given */
    struct hf_history_row *entries; /* lent out by HISTORY */
    size_t                 entries_room;
};

/* Write base.errmsg and return `code`. */
int hf_sq_fail(struct hf_sq *sq, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Answer a request, or all of them: done() is called soon. */
void hf_sq_finish(struct hf_sq *sq, struct hf_req *req, int status);
void hf_sq_finish_all(struct hf_sq *sq, int status);

/* Carry out the first waiting request, perhaps with more in one transaction.  False:
 * it must wait for the write lock, and so must all behind it. */
bool hf_sq_run_next(struct hf_sq *sq);

int hf_sq_enter(struct hf_sq *sq, struct hf_req *req);
int hf_sq_leave(struct hf_sq *sq, struct hf_req *req);
int hf_sq_break(struct hf_sq *sq, struct hf_req *req);
int hf_sq_list(struct hf_sq *sq, struct hf_req *req);
int hf_sq_downgrade(struct hf_sq *sq, struct hf_req *req);
int hf_sq_ask(struct hf_sq *sq, struct hf_req *req);
int hf_sq_verify(struct hf_sq *sq, struct hf_req *req);
int hf_sq_diagnose(struct hf_sq *sq, struct hf_req *req);

/* ENTER and LEAVE inside a transaction.  undo() takes back what ENTER did outside of the
 * database.  leave_inside(): 1, or 0 if the place was gone already. */
int  hf_sq_enter_inside(struct hf_sq *sq, struct hf_req *req, uint64_t number,
                        struct hf_sq_own **ret);
void hf_sq_enter_undo(struct hf_sq *sq, struct hf_sq_own *own);
int  hf_sq_leave_inside(struct hf_sq *sq, const struct hf_sq_own *own);

/* Leave every line, as far as that is possible. */
void hf_sq_leave_all(struct hf_sq *sq);

#endif
