/* inner.h - what the files of the PostgreSQL store share.
 *
 *   config.c servers.c  what a URL says    link.c     where the server is, how long
 *   call.c function.c value.c  calls of it  fault.c    what its errors mean
 *   connect.c cancel.c  both ends of a connection
 *   schema.c   the schema                   session.c bye.c  hello, renewals, lost; its end
 *   observe.c  who is dead                 news.c     LISTEN, or polling
 *   task.c     how a verb is put to it     store.c    process, open, close
 *   list.c examine.c  what is special of the verbs (served/served.h)
 *   socket.c   libpq's socket
 *
 * What the database keeps is told in schema.sql.
 */
#ifndef HF_PG_INNER_H
#define HF_PG_INNER_H

#include "store/postgres/link.h"
#include "store/postgres/postgres.h"
#include "store/served/served.h"

/* ---- session.c ------------------------------------------------------------------ */

struct hf_pg_session {
    uint64_t          connection; /* number of the newest */
    bool              made;       /* the schema, on this connection: not again */
    bool              again;      /* renew once more when it is answered */
    hf_time           sent; /* the renewal, or hello, last wanted: sent then or later */
    hf_time           due;  /* renew then */
    bool              history_kept; /* as the URL wants it */
    struct hf_pg_call call;
};

void    hf_pg_session_begin(struct hf_pg *pg);
void    hf_pg_session_broken(struct hf_pg *pg);
void    hf_pg_session_run(struct hf_pg *pg);
hf_time hf_pg_session_wake(const struct hf_pg *pg);

/* It is dead, and all that was in it: begin another one. */
void hf_pg_session_restart(struct hf_served *served);

/* Has a result of the session's own calls failed?  Then all that is needed was done. */
bool hf_pg_session_failed(struct hf_pg *pg, const PGresult *result,
                          void (*again)(struct hf_pg *));

void hf_pg_renew(struct hf_pg *pg);

/* ---- bye.c ---------------------------------------------------------------------- */

/* GREETING: end the session that a will is of. */
void hf_pg_execute(struct hf_pg *pg);

/* End our own, for good; waits a moment. */
void hf_pg_bye(struct hf_pg *pg);

/* ---- observe.c ------------------------------------------------------------------ */

#define HF_PG_DRAWN 32

struct hf_pg_drawn {
    int64_t number;
    hf_time when; /* we had it; the server drew it earlier */
};

struct hf_pg_observe {
    struct hf_pg_drawn drawn[HF_PG_DRAWN]; /* oldest first */
    size_t             count;
    char               era[40]; /* which run of the server they were drawn in */
    hf_time            alarm;   /* somebody in our way may be dead then */
    hf_time            round;   /* bury and sweep then what is in nobody's way */
    struct hf_pg_call  call;
};

void hf_pg_observe_init(struct hf_pg *pg);

/* Hello was answered, with a number. */
void hf_pg_observe_begin(struct hf_pg *pg, int64_t number, const char *era);

/* A renewal was: { code, number, ttl, era }, of our own first, then of those in our way. */
void hf_pg_observe(struct hf_pg *pg, const PGresult *result);
void hf_pg_observe_run(struct hf_pg *pg);

/* How much is left of a lease of so many milliseconds, if it was renewed by that number, by
 * our own clock and at the least; for people.  0: not known. */
int64_t hf_pg_observe_left(const struct hf_pg *pg, int64_t number, int64_t ttl_ms);
hf_time hf_pg_observe_wake(const struct hf_pg *pg);

/* ---- news.c --------------------------------------------------------------------- */

struct hf_pg_news {
    bool              listening;
    bool              again;  /* fetch once more, after the one under way */
    hf_time           wanted; /* LISTEN from then on; HF_NEVER: nobody waits */
    hf_time           idle;   /* since when nobody waits; 0: somebody does */
    hf_time           poll;   /* fetch news then */
    hf_time           pause;  /* between two fetches */
    struct hf_pg_call listen;
    struct hf_pg_call call; /* a fetch */
};

void    hf_pg_news_begin(struct hf_pg *pg); /* a connection is ready */
void    hf_pg_news_run(struct hf_pg *pg);
void    hf_pg_news_fetch(struct hf_pg *pg); /* for what was missed */
hf_time hf_pg_news_wake(const struct hf_pg *pg);

/* Is there no LISTEN, by a pooler or as the URL wants it? */
bool hf_pg_polls(const struct hf_pg *pg);

/* Somebody waits for news: who waits to be granted at once, others in a moment. */
void hf_pg_news_want(struct hf_pg *pg, bool at_once);

/* ---- task.c --------------------------------------------------------------------- */

struct hf_pg_task {
    struct hf_served_task base;
    struct hf_pg_call     call;
    bool                  for_session; /* the call is for ours */
};

/* The session is dead: what was not said for it yet is not said any more. */
void hf_pg_tasks_drop(struct hf_pg *pg);

/* For struct hf_served_ops: a call. */
void hf_pg_task_begin(struct hf_served_task *task);
void hf_pg_task_begin_read(struct hf_served_task *task);
void hf_pg_task_send(struct hf_served_task *task);
void hf_pg_add_note(struct hf_served *served, const char *text);

/* ... and what is special. */
hf_served_on_answer hf_pg_list;
hf_served_on_answer hf_pg_history;
void                hf_pg_examine(struct hf_served_task *task);

struct hf_pg {
    union { /* the same by two names */
        struct hf_remote remote;
        struct hf_served served;
    };
    struct hf_pg_config  config;
    struct hf_dial       dial;
    struct hf_pg_link    link;
    struct hf_pg_args    args;
    struct hf_pg_session session;
    struct hf_pg_observe observe;
    struct hf_pg_news    news;
};

#endif
