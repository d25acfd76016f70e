/* session.h - our session in the database: its lease, its messages, its end. */
#ifndef HF_PG_SESSION_H
#define HF_PG_SESSION_H

#include "store/postgres/call/call.h"
#include "store/served/expiry.h"

/* ---- session.c ------------------------------------------------------------------ */

struct hf_pg_session {
    uint64_t connection; /* number of the newest connection */
    bool     made;       /* we made the schema on this connection: not twice */
    bool     again;      /* renew once more after the renewal in flight */
    hf_time  sent; /* when the last renewal or hello was wanted; sent then or later */
    hf_time  due;  /* of the next renewal */
    bool     history_kept; /* the server knows how much history the URL wants */
    struct hf_pg_call call;
};

void    hf_pg_session_broken(struct hf_pg *pg); /* the connection broke */
void    hf_pg_session_run(struct hf_pg *pg);
hf_time hf_pg_session_wake(const struct hf_pg *pg);

/* The session is dead, with all its places: begin another one. */
void hf_pg_session_restart(struct hf_served *served);

/* Has a call of the session's own failed?  Then this has dealt with it. */
bool hf_pg_session_failed(struct hf_pg *pg, const PGresult *result,
                          void (*again)(struct hf_pg *));

/* A renewal or hello was answered: the lease counts from its sending. */
void hf_pg_session_extend(struct hf_pg *pg);

void hf_pg_renew(struct hf_pg *pg);

/* ---- hello.c -------------------------------------------------------------------- */

/* We are connected; ends with hf_dial_ready(). */
void hf_pg_session_begin(struct hf_pg *pg);

/* In GREETING: open the session, or move it to this connection. */
void hf_pg_hello(struct hf_pg *pg);

/* ---- bye.c ---------------------------------------------------------------------- */

/* In GREETING: end the session that a session key belongs to. */
void hf_pg_end_session(struct hf_pg *pg);

/* At close: end our own session.  Waits a moment for the answer. */
void hf_pg_bye(struct hf_pg *pg);

/* ---- expiry.c ------------------------------------------------------------------- */

struct hf_pg_expiry {
    struct hf_expiry   plan;
    enum hf_expiry_due due; /* what the call in flight is for */
    struct hf_pg_call  call;
};

/* A renewal was answered: rows of { code, number, ttl, era }, the first about our own
 * session, the others about sessions in our way. */
void    hf_pg_expiry_renewed(struct hf_pg *pg, const PGresult *result);
void    hf_pg_expiry_run(struct hf_pg *pg);
hf_time hf_pg_expiry_wake(const struct hf_pg *pg);

/* ---- listen.c ------------------------------------------------------------------- */

struct hf_pg_listen {
    bool              listening;
    bool              again;  /* fetch once more after the fetch in flight */
    hf_time           wanted; /* LISTEN then; HF_NEVER: nothing waits */
    hf_time           idle;   /* since when nothing waits; 0: something does */
    hf_time           poll;   /* of the next fetch */
    hf_time           pause;  /* between two fetches */
    struct hf_pg_call listen_call;
    struct hf_pg_call fetch;
};

void    hf_pg_listen_begin(struct hf_pg *pg); /* the connection is ready */
void    hf_pg_listen_run(struct hf_pg *pg);
void    hf_pg_listen_fetch(struct hf_pg *pg); /* find out about missed messages */
hf_time hf_pg_listen_wake(const struct hf_pg *pg);

/* Do we poll instead of LISTEN, because of a pooler or the URL? */
bool hf_pg_polls(const struct hf_pg *pg);

/* A request waits for messages; `at_once` if it waits for a grant, else in a moment. */
void hf_pg_listen_want(struct hf_pg *pg, bool at_once);

#endif
