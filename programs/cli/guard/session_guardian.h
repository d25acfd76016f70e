/* session_guardian.h - a process that has a session key, waits until all processes that
 * may use the session's locks are dead, and then ends the session.
 *
 * It is for servers, which cannot see that a client was killed.  Two kinds of clients
 * have one:
 *
 *     client                    waits for the end of            and leaves
 *     program with HF_GUARDIAN  the program and its forks       when the lease is over
 *     holdfast hold, serve      it, the process that started    at the deadline
 *                               it, and its stdin
 *
 *     program ---- socket ---- holdfast guardian      (libholdfast starts it)
 *
 *     user ---- stdin ---- holdfast hold ---- socket ---- session guardian
 *       |                                                   |
 *       +------------------- the same stdin ----------------+
 *
 * The user of `hold` is the process that started it, or that has the other end of its
 * stdin.  If hold alone is killed, that process may still work under the lock: it knows
 * until when the lock is certainly held.  The end of stdin alone proves nothing: Node, Java and
 * others close it when their child is dead.  As long as nothing is held there is nobody
 * to wait for.
 *
 * All this is the same for `serve`, where as many locks as there are have one session.
 *
 * The session guardian of `hold` is forked before the store is opened, gets the same
 * orders as the guardian of `run` (guard.h), and is dismissed when the lock is released.
 * There is none if stdin is neither a pipe nor a socket: its end would tell nothing.
 */
#ifndef SESSION_GUARDIAN_H
#define SESSION_GUARDIAN_H

#include "guard/guard.h"

#include <holdfast.h>

/* hold's end. */
struct session_guardian {
    struct guard guard;    /* its link is -1 if there is none */
    int64_t      deadline; /* as the session guardian knows it; 0: nothing is held */
};

/* 0, or -1 and errno: it could not be forked, and there is none. */
int session_guardian_start(struct session_guardian *ret);

/* Tell it until when the lock is held, before the user is told.  Until then it ends the
 * session at once if hold is killed.  NULL: there is none. */
void session_guardian_tell(struct session_guardian *guardian, const struct hf_lock *lock);

/* The same, for several locks of one session; 0: none is held. */
void session_guardian_tell_deadline(struct session_guardian *guardian, int64_t deadline);

#endif
