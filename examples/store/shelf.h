/* shelf.h - a store to learn from: `shelf:`, lines in the memory of this process.
 *
 * It has the nine verbs that every store has and keeps S1 to S9 (see store/store.h): a comment stands where each
 * is kept.  It is simple and slow: one mutex, one array of places, and every change rings
 * every session.
 *
 *     store.c   a session: requests in, answers out
 *     places.c  the places, in line; who is granted; the verbs
 */
#ifndef HF_SHELF_H
#define HF_SHELF_H

#include "store/findings.h"
#include "store/requests.h"
#include "store/store.h"

extern const struct hf_store_impl hf_shelf_store;

/* One opened store. */
struct session {
    struct hf_store        base;  /* first: a pointer to it is one to the session */
    struct hf_requests     queue; /* submitted and not answered */
    struct hf_finding_list findings;
    uint64_t               number; /* names it in its will; no other ever has the same */
    bool                   ended;  /* a will was executed, and process() has to tell */
    uint64_t               executes; /* opened to end the session of that number; or 0 */
    struct session        *next;
};

/* ---- For those who have the mutex, which is store.c's ---------------------------------- */

extern struct session *shelf_sessions; /* all of them */
extern uint64_t        shelf_counter;  /* see places.c */

/* Carry a request out, by its op.  WATCH is none of these: has it come true? */
typedef int              shelf_verb(struct session *session, struct hf_req *req);
extern shelf_verb *const shelf_verbs[];
bool shelf_watch_is_due(const struct session *session, struct hf_req *req);

/* The session ends: its places go. */
void shelf_give_up_all(const struct session *session);

#endif
