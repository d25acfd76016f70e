/* session.h - our session in the database: its lease, its messages, its end. */
#ifndef HF_MARIA_SESSION_H
#define HF_MARIA_SESSION_H

#include "store/mariadb/call/call.h"
#include "store/served/expiry.h"

/* ---- session.c ------------------------------------------------------------------ */

struct hf_maria_session {
    uint64_t connection;   /* number of the newest connection */
    uint64_t thread;       /* the server's number of the one before, or 0 */
    bool     made;         /* we made the schema on this connection: not twice */
    bool     again;        /* renew once more after the renewal in flight */
    bool     history_kept; /* the server knows how much history the URL wants */
    hf_time  sent; /* when the last renewal or hello was wanted; sent then or later */
    hf_time  due;  /* of the next renewal */
    struct hf_maria_call tune; /* of the connection */
    struct hf_maria_call call;
};

void    hf_maria_session_broken(struct hf_maria *maria); /* the connection broke */
void    hf_maria_session_run(struct hf_maria *maria);
hf_time hf_maria_session_wake(const struct hf_maria *maria);

/* The session is dead, with all its places: begin another one. */
void hf_maria_session_restart(struct hf_served *served);

/* Has a call of the session's own failed?  Then this has dealt with it. */
bool hf_maria_session_failed(struct hf_maria *maria, const struct hf_my_reply *reply,
                             void (*again)(struct hf_maria *));

/* A renewal or hello was answered: the lease counts from its sending. */
void hf_maria_session_extend(struct hf_maria *maria);

void hf_maria_renew(struct hf_maria *maria);

/* ---- hello.c -------------------------------------------------------------------- */

/* We are logged in; ends with hf_dial_ready(). */
void hf_maria_session_begin(struct hf_my_conn *conn);

/* In GREETING: open the session, or move it to this connection. */
void hf_maria_hello(struct hf_maria *maria);

/* ---- bye.c ---------------------------------------------------------------------- */

/* In GREETING: end the session that a session key belongs to. */
void hf_maria_end_session(struct hf_maria *maria);

/* At close: end our own session.  Waits a moment for the answer. */
void hf_maria_bye(struct hf_maria *maria);

/* ---- expiry.c ------------------------------------------------------------------- */

struct hf_maria_expiry {
    struct hf_expiry     plan;
    enum hf_expiry_due   due; /* what the call in flight is for */
    struct hf_maria_call call;
};

/* A renewal was answered: rows of { code, number, ttl, era }, the first about our own
 * session, the others about sessions in our way. */
void    hf_maria_expiry_renewed(struct hf_maria *maria, const struct hf_my_reply *reply);
void    hf_maria_expiry_run(struct hf_maria *maria);
hf_time hf_maria_expiry_wake(const struct hf_maria *maria);

/* ---- waker.c -------------------------------------------------------------------- */

struct hf_maria_waker {
    struct hf_my_conn    conn; /* sleeps in hf_await() */
    struct hf_my_call    await;
    struct hf_my_query   query;
    bool                 pooled; /* there is a pooler between: poll */
    bool                 bedded; /* the link has the lock that hf_await() waits for */
    bool                 again;  /* fetch once more after the fetch in flight */
    hf_time              wanted; /* connect then; HF_NEVER: nothing waits */
    hf_time              idle;   /* since when nothing waits; 0: something does */
    hf_time              rested; /* do not sleep before */
    hf_time              poll;   /* of the next fetch, while no connection sleeps */
    hf_time              pause;  /* between two fetches */
    struct hf_maria_call fetch;
    struct hf_maria_call rest;
};

void    hf_maria_waker_init(struct hf_maria *maria, uint64_t seed);
void    hf_maria_waker_begin(struct hf_maria *maria); /* the link is ready */
void    hf_maria_waker_close(struct hf_maria *maria);
void    hf_maria_waker_run(struct hf_maria *maria, bool readable);
hf_time hf_maria_waker_wake(const struct hf_maria *maria);

/* Fetch the messages for our session. */
void hf_maria_fetch(struct hf_maria *maria);

/* Do we poll, because of a pooler or the URL? */
bool hf_maria_polls(const struct hf_maria *maria);

/* A request waits for messages; `at_once` if it waits for a grant, else in a moment. */
void hf_maria_waker_want(struct hf_maria *maria, bool at_once);

#endif
