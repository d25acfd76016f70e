/* lease.pml - a holder's deadline and the end of its session: the rules "lease" and "observed".
 *
 * Times are small integers that are counted down, so a run has no last moment: a ttl of 8,
 * clocks whose rates differ by 1/4, a guard of 2.  Calls and answers take any time, or get
 * lost; the holder pauses anywhere.  It looks at its clock before each action under the lock,
 * and an action takes up to GUARD.  The session ends as soon as the rule allows, and then
 * somebody else is granted the lock: never during an action.
 *
 *     lease      the server counts the ttl down from the last renewal that it carried out
 *     observed   another client has got a renewal number, and the holder has not drawn a higher
 *                one for ttl (1 + rho) since, by the clock of the other client
 *
 * Assumed: the rates of two clocks differ by no more than the margin, and an action that was
 * begun in time lasts no longer than the guard.  fence.pml is about one that does.
 * Left out: the era of PostgreSQL's numbers, Sentinels, a server's clock that is set.
 *
 * good: LEASE
 * good: LEASE DRIFT
 * good: OBSERVED
 * good: OBSERVED DRIFT
 * broken FROM_ANSWER LEASE: the deadline counts from the answer to a renewal
 * broken NO_GUARD LEASE DRIFT: the deadline leaves no time to stop
 * broken NO_MARGIN LEASE DRIFT: the deadline does not allow for different clocks
 * limit LONG_ACTION LEASE DRIFT: an action is longer than the guard
 * broken FROM_SENT OBSERVED: the other client counts from when it asked for its number
 * broken NO_MARGIN OBSERVED DRIFT: neither side allows for different clocks
 *
 * actions
 *     send       hf_redis_renew in src/store/redis/session/renew.c; hf_pg_renew in src/store/postgres/session/session.c
 *     renew      src/store/redis/scripts/renew.lua; renew in src/store/postgres/schema.sql
 *     answered   hf_served_extend in src/store/served/store.c; hf_lease_deadline in src/core/lease.c
 *     act        hf_left_ms in src/client/handle/handle.c
 *     expire     sweep in src/store/redis/scripts/line.lua
 *     draw       hf_pg_hello in src/store/postgres/session/hello.c
 *     drawn      hf_drawn_add in src/store/served/drawn.c
 *     expire_silent  expire_silent in src/store/postgres/schema.sql; hf_lease_stale_at in src/core/lease.c
 *
 * of the model alone: holder_ticks, other_ticks, tick
 */
#define TTL    8
#define RATE   4
#define GUARD  2
#ifdef NO_MARGIN
#define SHORTER TTL
#define LONGER  TTL
#else
#define SHORTER (TTL - TTL / RATE)
#define LONGER  (TTL + TTL / RATE)
#endif
#ifdef LONG_ACTION
#define ACTION (GUARD + 2)
#else
#define ACTION GUARD
#endif
#ifdef NO_GUARD
#define LAST SHORTER
#else
#define LAST (SHORTER - GUARD)
#endif

mtype { IDLE, SENT, CARRIED_OUT };

mtype call = IDLE; /* the holder's renewal */
byte  age;         /* since it was sent, by the holder's clock */
byte  left;        /* until the deadline, by the holder's clock */
bool  acting;      /* the holder acts under the lock */
byte  acted;       /* since when */
byte  lease;       /* LEASE: until the server may end the session */
bool  ended;       /* the session has ended: somebody else has the lock */
byte  steady;      /* since the holder's clock last lost a tick */

/* OBSERVED: another client's number. */
mtype ask = IDLE;
byte  ask_age;   /* since it asked for one, by its own clock */
bool  ask_lower; /* the holder has drawn a higher one since the server gave it that */
bool  has;
byte  has_age;   /* since it has it */
bool  lower;     /* the holder has drawn a higher one since */
byte  even;      /* since its clock last gained a tick */

inline send() { call == IDLE -> call = SENT; age = 0 }

inline renew() {
    call == SENT ->
    if
    :: ended -> call = IDLE /* refused */
    :: else ->
       call = CARRIED_OUT;
#ifdef LEASE
       lease = TTL
#else
       lower = true;
       if :: ask == CARRIED_OUT -> ask_lower = true :: else fi
#endif
    fi
}

inline answered() {
    call == CARRIED_OUT ->
    call = IDLE;
#ifdef FROM_ANSWER
    left = LAST;
#else
    if :: age < LAST && LAST - age > left -> left = LAST - age :: else fi;
#endif
    age = 0
}

inline act() { left > 0 && !acting -> assert(!ended); acting = true; acted = 0 }

inline expire() { lease == 0 && !ended -> assert(!acting); ended = true }

inline draw() { ask == SENT -> ask = CARRIED_OUT; ask_lower = false }

inline drawn() {
    ask == CARRIED_OUT ->
    ask = IDLE;
    has = true;
    lower = ask_lower;
#ifdef FROM_SENT
    has_age = ask_age;
#else
    has_age = 0;
#endif
    ask_age = 0; ask_lower = false
}

inline expire_silent() {
    has && has_age >= LONGER && !lower && !ended -> assert(!acting); ended = true
}

inline holder_ticks() {
    if :: left > 0 -> left-- :: else fi;
    if :: call != IDLE && age < LAST -> age++ :: else fi
}

inline other_ticks() {
    if :: has && has_age < LONGER -> has_age++ :: else fi
#ifdef FROM_SENT
    ;
    if :: ask != IDLE && ask_age < LONGER -> ask_age++ :: else fi
#endif
}

inline tick() {
    !acting || acted < ACTION ->
    if :: acting -> acted++ :: else fi;
    if :: lease > 0 -> lease-- :: else fi;
#ifdef DRIFT
    if
    :: steady == RATE - 1 -> steady = 0 /* the holder's clock is slow */
    :: steady < RATE - 1 -> steady++; holder_ticks()
    :: steady == RATE - 1 -> holder_ticks()
    fi
#else
    holder_ticks()
#endif
#ifdef OBSERVED
    ;
    other_ticks();
#ifdef DRIFT
    if
    :: even == RATE - 1 -> even = 0; other_ticks() /* and the other's is fast */
    :: even < RATE - 1 -> even++
    :: even == RATE - 1
    fi
#else
    skip
#endif
#endif
}

active proctype holder()
{
    do
    :: atomic { send() }
    :: atomic { answered() }
    :: atomic { call != IDLE -> call = IDLE; age = 0 } /* the answer, or the call, is lost */
    :: atomic { act() }
    :: atomic { acting -> acting = false; acted = 0 }
    od
}

active proctype server()
{
    do
    :: atomic { renew() }
#ifdef LEASE
    :: atomic { expire() }
#else
    :: atomic { ask == IDLE -> ask = SENT; ask_age = 0 }
    :: atomic { draw() }
    :: atomic { drawn() }
    :: atomic { expire_silent() }
#endif
    od
}

active proctype clocks()
{
    do
    :: atomic { tick() }
    od
}
