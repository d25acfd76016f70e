/* shelf.h - a store to learn from: lines in the memory of this process.
 *
 *     shelf:NAME            stores opened on the same NAME share their lines
 *     shelf:NAME?lease=MS   a session dies when it is not turned for MS
 *
 * It has all ten verbs and keeps S1 to S8 (see store/store.h): a comment stands where each
 * is kept.  It is simple and slow: one mutex, one list of places for all lines, and every
 * change rings every session.
 *
 *     store.c   a session: requests in, answers out, its lease
 *     verbs.c   what the verbs do, and which answer they give
 *     lines.c   the places, in line; who is granted; whom a change wakes
 */
#ifndef HF_SHELF_H
#define HF_SHELF_H

#include "store/findings.h"
#include "store/requests.h"
#include "store/store.h"

extern const struct hf_store_impl hf_shelf_store;

/* One opened store. */
struct shelf_session {
    struct hf_store        base; /* first: a pointer to it is one to the session */
    char                  *shelf;
    hf_time                lease; /* 0: none */
    hf_time                until; /* when it is over, */
    bool                   dead;  /* and that it was */
    struct hf_requests     queue; /* submitted and not answered */
    struct hf_finding_list findings;
    struct shelf_session  *next;
};

/* A ticket, and what only the store knows of it.  One that a BREAK took away stays, seen by
 * nobody, until its session ends. */
struct shelf_place {
    struct hf_ticket      ticket; /* its strings are ours */
    struct shelf_session *session;
    uint64_t              id; /* chosen by the session */
    bool                  granted, broken;
    uint64_t              asked_at; /* `shelf_counter` after the last ASK */
    struct shelf_place   *next;
};

/* A line, as it was last looked at. */
struct shelf_view {
    struct hf_ticket *ticket;
    size_t            count;
    size_t            waiting; /* how many of them are not granted */
};

/* ---- lines.c: all of it is for who has the mutex ------------------------------------ */

extern struct shelf_session *shelf_sessions;
extern struct shelf_view     shelf_view;
extern uint64_t              shelf_counter;

/* Look at a line, or with NULL at all of the shelf. */
void shelf_look(const struct shelf_session *session, const char *name);

/* May a ticket of that shape pass, with the first `ahead` of the view ahead of it? */
bool shelf_fits(const struct hf_shape *shape, size_t ahead);

/* To be called after every change of a line. */
void shelf_changed(const struct shelf_session *session, const char *name);

/* Take a place: 0 or HF_ENOMEM.  Take one out.  Take out all of a session. */
int  shelf_add(struct shelf_session *session, const struct hf_req *req);
void shelf_remove(struct shelf_place *place);
void shelf_remove_all(const struct shelf_session *session);

/* A session's own place, broken or not; the one with that seq that anybody sees; or NULL. */
struct shelf_place *shelf_find_own(const struct shelf_session *session, uint64_t id);
struct shelf_place *shelf_find(const struct shelf_session *session, uint64_t seq);

/* ---- verbs.c, the same ---------------------------------------------------------------- */

/* Carry a request out.  False: it is a WATCH that has not come true. */
bool shelf_carry_out(struct shelf_session *session, struct hf_req *req);

#endif
