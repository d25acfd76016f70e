/* session_key.pml - a session is ended by its key (S9) while its owner lives, and may reconnect.
 *
 * The owner has session 1, then 2, ...; it reconnects and enters a line whenever it likes.  NKEYS
 * clients have the key of session 1.  Any of their connections breaks anywhere, before or after
 * the call is carried out, and they try again, TRIES times in all; each may die.  Session 1 may
 * expire by itself.
 *
 * Shown: whoever has the key ends session 1 and never another one; once it has said so, session 1
 * is dead for good and has no place; a try that is not cut off does it, whatever the owner does.
 *
 *     REDIS      hello with the highest number of a connection shuts the owner out; then bye
 *     POSTGRES   bye for any connection, one call
 *     ZOOKEEPER  connects in the session, as the owner does, and sends CLOSE
 *
 * Assumed: no data are lost.  (Redis: an owner that comes back in a grace period reclaims its
 * places, see docs/internals/redis.md.)  Left out: sessions that are ended in pieces, claims, the
 * leader's answer that a session is being closed, the owner that acts under a lock meanwhile.
 *
 * good: REDIS NKEYS=2
 * good: POSTGRES NKEYS=2
 * good: ZOOKEEPER NKEYS=2
 * broken NEXT_NUMBER REDIS NKEYS=1: the key's connection counts as the owner's next one
 * broken ENDS_OWNER REDIS NKEYS=1: the key names the owner, not its session
 * broken HELLO_OPENS REDIS NKEYS=1: hello with a key opens the session if it is gone
 * broken BOUND_CLOSE ZOOKEEPER NKEYS=1: CLOSE counts only on the newest connection
 *
 * actions
 *     greet      src/store/redis/scripts/hello.lua; hello in src/store/postgres/schema.sql; send_connect, be_greeted in src/store/zookeeper/wire/link.c
 *     enter      src/store/redis/scripts/enter.lua; enter in src/store/postgres/schema.sql; hf_zk_enter in src/store/zookeeper/enter.c
 *     expire     sweep in src/store/redis/scripts/line.lua; expire_silent in src/store/postgres/schema.sql
 *     take_over  hf_redis_session_begin in src/store/redis/session/session.c; hf_zk_session_key_read in src/store/zookeeper/session_key.c
 *     end        src/store/redis/scripts/bye.lua; hf_redis_end_by_key in src/store/redis/session/bye.c; bye in src/store/postgres/schema.sql; hf_pg_end_session in src/store/postgres/session/bye.c; hf_zk_end_session, on_closed in src/store/zookeeper/session_key.c
 *     ended      hf_served_ended in src/store/served/session.c; hf_zk_link_end in src/store/zookeeper/wire/link.c
 *
 * of the model alone: check
 */
#ifndef NKEYS
#define NKEYS 1
#endif
#define KEY      1 /* the session of the key */
#define SESSIONS 3
#ifdef ENDS_OWNER
#define ITS_SESSION mine
#else
#define ITS_SESSION KEY
#endif
#define TRIES    3
#define MOVES    3 /* connections that the owner makes */
#define HIGHEST  9 /* number of a connection */

bool alive[SESSIONS + 1];
byte newest[SESSIONS + 1]; /* number of its newest connection */
byte places[SESSIONS + 1];
bool was_dead;             /* session 1 has ended */
bool is_ended;             /* a client with the key has said so */
byte mine = 1;             /* the owner's session */
byte moves;
bool shut_out;             /* the owner was told of a newer connection */

inline check() {
    assert(!is_ended || (!alive[KEY] && places[KEY] == 0));
    assert(!was_dead || !alive[KEY])
}

/* The owner connects: hello, or a connect in its session. */
inline greet() {
    if
    :: !alive[mine] && !fresh -> fresh = true; mine++; connection = 0; shut_out = false
    :: !alive[mine] && fresh -> alive[mine] = true; newest[mine] = connection; fresh = false
    :: alive[mine] && newest[mine] > connection -> shut_out = true
    :: else -> newest[mine] = connection; fresh = false
    fi;
    check()
}

inline enter() {
    if
    :: alive[mine] && newest[mine] == connection && !fresh && places[mine] == 0 -> places[mine] = 1
    :: else
    fi;
    check()
}

inline expire(session) {
    alive[session] = false;
    places[session] = 0;
    if :: session == KEY -> was_dead = true :: else fi
}

/* The client with the key connects, and shuts the owner out if it has to. */
inline take_over() {
    its = ITS_SESSION;
#ifdef REDIS
    if
    :: alive[its] && newest[its] > number -> skip /* refused */
    :: alive[its] && newest[its] <= number -> newest[its] = number
#ifdef HELLO_OPENS
    :: !alive[its] -> alive[its] = true; newest[its] = number
#else
    :: !alive[its] -> gone = true
#endif
    fi;
#endif
#ifdef ZOOKEEPER
    if
    :: alive[its] -> newest[its] = newest[its] + 1; number = newest[its]
    :: !alive[its] -> gone = true
    fi;
#endif
    check()
}

inline end(session) {
    assert(session == KEY);
#ifdef REDIS
    if
    :: alive[session] && newest[session] == number -> expire(session); gone = true
    :: alive[session] && newest[session] != number -> skip /* refused */
    :: !alive[session] -> gone = true
    fi
#endif
#ifdef POSTGRES
    expire(session);
    gone = true
#endif
#ifdef ZOOKEEPER
    if
#ifdef BOUND_CLOSE
    :: alive[session] && newest[session] != number -> skip
#endif
    :: !alive[session] -> gone = true
    :: else -> expire(session); gone = true
    fi
#endif
}

inline ended() { is_ended = true; check() }

proctype owner()
{
    byte connection = 1;
    bool fresh = false;

    do
    :: atomic { moves < MOVES && mine < SESSIONS -> moves++; connection++; greet() }
    :: atomic { enter() }
    :: atomic { shut_out && !alive[mine] && mine < SESSIONS -> connection++; greet() } /* its lease is over */
    :: break
    od
}

proctype key()
{
    byte number = HIGHEST, tries, its;
    bool gone;

#ifdef NEXT_NUMBER
    number = 2;
#endif
    do
    :: gone -> atomic { ended(); break }
    :: !gone && tries < TRIES ->
       tries++;
       if
       :: atomic { take_over() }
       :: skip; goto again /* the connection broke */
       fi;
       if :: atomic { gone -> goto again } :: else fi;
       if
       :: atomic { end(its); assert(gone) } /* it cannot be refused */
       :: skip
       fi;
       if :: gone = false :: skip fi; /* the answer is lost */
again:
       skip
    :: !gone && tries == TRIES -> break /* it gives up; the lease has to run out */
    :: break /* it dies */
    od
}

/* Session 1 by itself, when its lease has run out. */
proctype lease()
{
    if
    :: atomic { expire(KEY) }
    :: skip
    fi
}

init {
    byte i;

    atomic {
        alive[1] = true; newest[1] = 1; places[1] = 1;
        run owner();
        run lease();
        do
        :: i < NKEYS -> run key(); i++
        :: else -> break
        od
    }
}
