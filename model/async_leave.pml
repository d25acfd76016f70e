/* async_leave.pml - PostgreSQL: a LEAVE that does not wait for the disk, and a crash that undoes it.
 *
 * Each client takes a mutex ROUNDS times.  The tables in memory and those on disk are two copies.
 * A synchronous commit copies everything, since the log is written in order; the server also
 * does so whenever it likes.  NCRASH times the server crashes: memory becomes what is on disk, and
 * all connections break.  NSILENT sessions of live clients expire, NDEATH clients die.
 *
 * The message "g" that follows a release is believed at once, though that release, and with it
 * the grant, is not on disk.  Shown: never two holders, and every waiter gets the lock.
 *
 * Assumed: a holder stops before its session expires (lease.pml).  Commits that a crash undoes are
 * the last ones.  Left out: slots, downgrades, breaks, which all wait for the disk; renewal
 * numbers and eras; messages that are lost without a crash.
 *
 * good: NC=3 NCRASH=2
 * good: NC=3 NCRASH=1 NSILENT=1
 * good: NC=3 NCRASH=1 NDEATH=1
 * good: NC=2 ROUNDS=2 NCRASH=2
 * broken ENTER_ASYNC NC=2 NCRASH=1: the answer to ENTER grants before that is on disk
 * broken EXPIRE_ASYNC NC=3 NCRASH=1 NSILENT=1: an expiry does not wait for the disk
 * broken NO_RECLAIM NC=2 NCRASH=1: a client that reconnects does not release what it had left
 *
 * actions
 *     enter      enter, enter_line, fits in src/store/postgres/schema.sql; hf_served_enter in src/store/served/verbs.c
 *     leave      leave, leave_line, remove_place in src/store/postgres/schema.sql; hf_served_leave in src/store/served/verbs.c
 *     grant_waiters  grant_waiters in src/store/postgres/schema.sql
 *     believe    on_granted in src/store/served/place.c
 *     read       read in src/store/postgres/schema.sql; hf_served_read, take_note in src/store/served/answer.c
 *     expire     expire_silent, remove_sessions in src/store/postgres/schema.sql
 *     reconnect  hello, reclaim in src/store/postgres/schema.sql; take_hello, reclaim_places in src/store/postgres/session/hello.c
 *     bye        bye in src/store/postgres/schema.sql; hf_pg_bye in src/store/postgres/session/bye.c
 *     gone       hf_pg_session_restart in src/store/postgres/session/session.c; on_gone in src/core/hold.c
 *     flush      ensure_durable in src/store/postgres/schema.sql
 *
 * of the model alone: crash, hold, remove
 */
#ifndef NC
#define NC 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef NCRASH
#define NCRASH 0
#endif
#ifndef NSILENT
#define NSILENT 0
#endif
#ifndef NDEATH
#define NDEATH 0
#endif

mtype { NONE, WAITS, GRANTED };
#define NOTHING 0
#define G       1 /* the message that grants */
#define N       2 /* the message to read the place */

/* The tables, in memory and on disk */
mtype place[NC] = NONE, disk_place[NC] = NONE;
byte  seq[NC], disk_seq[NC];
byte  last, disk_last;
bool  session[NC], disk_session[NC];
/* The clients */
bool  connected[NC];
byte  message[NC];
bool  knows[NC]; /* it wants its place: reclaim keeps that */
bool  holds[NC];
bool  dead[NC];
byte  crashed, silent, died;

inline flush() {
    d_step {
        k = 0;
        do
        :: k < NC ->
           disk_place[k] = place[k]; disk_seq[k] = seq[k]; disk_session[k] = session[k]; k++
        :: else -> k = 0; break
        od;
        disk_last = last
    }
}

/* A mutex: the first waiter, if nobody is granted. */
inline grant_waiters(how) {
    d_step {
        k = 0; first = NC;
        do
        :: k < NC && place[k] == GRANTED -> first = NC; break
        :: k < NC && place[k] == WAITS && (first == NC || seq[k] < seq[first]) -> first = k; k++
        :: k < NC && place[k] != GRANTED && !(place[k] == WAITS && (first == NC || seq[k] < seq[first])) -> k++
        :: else -> break
        od;
        k = 0;
        if
        :: first < NC ->
           place[first] = GRANTED;
           if :: connected[first] -> message[first] = how :: else fi
        :: else
        fi;
        first = 0
    }
}

inline remove(c, how) {
    place[c] = NONE;
    seq[c] = 0;
    grant_waiters(how)
}

inline hold(c) {
    k = 0;
    do
    :: k < NC -> assert(!holds[k]); k++
    :: else -> k = 0; break
    od;
    holds[c] = true
}

inline enter(c) {
    k = 0;
    do
    :: k < NC && place[k] == NONE -> k++
    :: else -> break
    od;
    place[c] = (k == NC -> GRANTED : WAITS);
    k = 0;
    last++;
    seq[c] = last;
#ifndef ENTER_ASYNC
    flush();
#endif
    knows[c] = true
}

inline believe(c) { message[c] == G -> message[c] = NOTHING; hold(c) }

/* The answer is on disk, with everything before it. */
inline read(c) { message[c] = NOTHING; flush() }

inline leave(c) { if :: place[c] != NONE -> remove(c, G) :: else fi }

/* The owner's call: it does not wait for the disk. */
inline bye(c) { session[c] = false; leave(c) }

inline expire(c) {
    holds[c] = false;
    session[c] = false;
    if :: place[c] != NONE -> remove(c, N) :: else fi;
#ifndef EXPIRE_ASYNC
    flush()
#endif
}

inline crash() {
    crashed < NCRASH -> crashed++;
    k = 0;
    do
    :: k < NC ->
       place[k] = disk_place[k]; seq[k] = disk_seq[k]; session[k] = disk_session[k];
       connected[k] = false; message[k] = NOTHING; k++
    :: else -> k = 0; break
    od;
    last = disk_last
}

inline gone(c) { knows[c] = false; message[c] = NOTHING; holds[c] = false }

/* Hello, and then the places that we do not have are released. */
inline reconnect(c) {
    connected[c] = true;
    message[c] = N; /* read the place: messages may be lost */
#ifndef NO_RECLAIM
    if :: session[c] && !knows[c] -> leave(c) :: else fi
#endif
}

proctype client(byte c)
{
    byte k, first, round;

next:
    if :: round == ROUNDS -> goto close :: else -> round++ fi;
enter_anew:
    atomic { /* a new session, if it is dead */
        gone(c);
        if
        :: connected[c] && session[c]
        :: !connected[c] && session[c] -> reconnect(c)
        :: !session[c] -> connected[c] = true; session[c] = true; flush()
        fi
    }
    atomic {
        if
        :: !connected[c] || !session[c] -> goto enter_anew
        :: else -> enter(c); if :: place[c] == GRANTED -> hold(c); goto holding :: else fi
        fi
    }
waiting:
    atomic {
        if
        :: !connected[c] -> reconnect(c); goto waiting
        :: connected[c] && !session[c] -> goto enter_anew
        :: connected[c] && session[c] && message[c] == G -> believe(c); goto holding
        :: connected[c] && session[c] && message[c] == N ->
           read(c);
           if
           :: place[c] == GRANTED -> hold(c); goto holding
           :: place[c] == NONE -> goto enter_anew
           :: else -> goto waiting
           fi
        :: died < NDEATH -> died++; goto dies
        fi
    }
holding:
    atomic {
        if
        :: skip
        :: died < NDEATH -> died++; goto dies
        :: connected[c] && !session[c] -> skip
        :: !connected[c] -> /* it reconnects while it holds the lock */
           reconnect(c); goto holding
        fi
    }
    atomic { holds[c] = false; knows[c] = false } /* release: LEAVE is sent */
    atomic {
        if
        :: connected[c] && session[c] -> leave(c)
        :: !connected[c] && session[c] -> reconnect(c)
        :: else -> gone(c)
        fi
    }
    goto next;
close:
    if
    :: skip
    :: goto idle
    fi;
    atomic {
        if
        :: connected[c] && session[c] -> bye(c)
        :: else /* it cannot be reached: the lease has to run out */
        fi
    }
dies:
    atomic { holds[c] = false; knows[c] = false; message[c] = NOTHING; dead[c] = true }
    goto done;
idle:
end:
    do /* the client lives on, and its session with it */
    :: atomic { !connected[c] && session[c] -> reconnect(c) }
    od;
done:
    skip
}

/* Another client ends a session that has been silent. */
proctype expiry(byte c)
{
    byte k, first;

end:
    do
    :: atomic { session[c] && dead[c] -> expire(c) }
    :: atomic { session[c] && !dead[c] && !connected[c] && silent < NSILENT -> silent++; expire(c) }
    :: atomic { session[c] && !dead[c] && connected[c] && silent < NSILENT ->
           silent++; connected[c] = false; message[c] = NOTHING; expire(c) }
    od
}

proctype server()
{
    byte k;

end:
    do
    :: atomic { crash() }
    :: atomic { NCRASH > 0 && crashed < NCRASH -> flush() }
    od
}

init {
    byte i;

    atomic {
        do
        :: i < NC -> run client(i); run expiry(i); i++
        :: else -> break
        od;
        run server()
    }
}
