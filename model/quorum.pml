/* quorum.pml - a holder's deadline on ZooKeeper: the rule "quorum" of core/lease.h.
 *
 * A client talks to a follower, the follower to the leader, and the leader ends the session
 * when it has not heard of it for T.  The follower answers pings by itself, even if it is cut
 * off; it tells the leader of its clients only when the leader asks, every T/4 or sooner.  All
 * messages take any time, in order, or never arrive.  The client pings and writes when it
 * likes, one call at a time, and remembers one earlier call, any of them: the mark i.
 *
 * T is 8 and counted down, clocks differ by 1/4, 20 ms are 1.  Shown: the session does not end
 * before the deadline.  (lease.pml has the guard.)
 *
 * Assumed: a question of the leader that is under way for 20 ms or longer does not arrive at
 * all, nor anything behind it: the follower is cut off.  core/lease.h argues that a client
 * notices a slower link by its writes; SLOW_LINK shows the case that it does not notice.
 * Left out: reconnecting, changes of T, a change of the leader, marks that are merged.
 *
 * good:
 * good: DRIFT
 * broken PING_COUNTS: the answer to a ping moves the deadline
 * broken WRITE_COUNTS: a committed write moves the deadline, counted from when it was sent
 * broken NO_GAP: a write proves every call that was answered before it was sent
 * broken NO_MARGIN DRIFT: the deadline does not allow for different clocks
 * limit SLOW_LINK: a question arrives late, just behind a write that the client counts on
 *
 * actions
 *     send       send_ping, send_beat in src/store/zookeeper/wire/beat.c
 *     answered   hf_zk_beat_heard in src/store/zookeeper/wire/beat.c; hf_lease_quorum_answered, remember_answer, proven, provable_at in src/core/lease.c
 *
 * of the model alone: client_ticks, extend, tick
 */
#define T      8
#define RATE   4
#define LITTLE 1 /* 20 ms */
#ifdef NO_MARGIN
#define LAST T
#else
#define LAST (T - T / RATE)
#endif

#define QUESTION 1
#define COMMIT   2
#define HEARD    3 /* the follower has heard of the session */
#define WRITE    4

chan to_follower = [2] of { byte };
chan to_leader = [3] of { byte };

mtype { IDLE, SENT, AT_SERVER, UNDER_WAY };

/* The client */
mtype call = IDLE;
bool  over;      /* the connection is given up */
bool  write;     /* else it is a ping */
byte  age;       /* since it was sent */
bool  has;       /* there is a mark */
byte  mark_sent; /* since then */
byte  mark_answered;
byte  slowest;   /* round trip since */
byte  left;      /* until the deadline */
byte  steady;    /* since its clock last lost a tick */
/* The follower */
bool  heard;     /* of the client, since the leader last asked */
/* The leader */
byte  lease = T; /* until it ends the session */
byte  asked;     /* since its last question */
bool  cut;       /* nothing that it sends arrives any more */
bool  ended;

inline send(w) { call == IDLE && !over && !ended -> call = SENT; write = w; age = 0 }

/* The deadline counts from a call that was sent `since` ago. */
inline extend(since) {
    if :: since < LAST && LAST - since > left -> left = LAST - since :: else fi
}

inline answered() {
    call == UNDER_WAY ->
    call = IDLE;
    if :: has && age > slowest -> slowest = age :: else fi;
#ifdef PING_COUNTS
    extend(age);
#endif
#ifdef WRITE_COUNTS
    if :: write -> extend(age) :: else fi;
#endif
    if
#ifdef NO_GAP
    :: write && has && mark_answered >= age -> extend(mark_sent)
#else
    :: write && has && mark_answered >= age + T / 4 + 2 * slowest + LITTLE -> extend(mark_sent)
#endif
    :: else
    fi;
    if
    :: has = true; mark_sent = age; mark_answered = 0; slowest = age
    :: has
    fi;
    age = 0
}

inline client_ticks() {
    if :: left > 0 -> left-- :: else fi;
    if :: call != IDLE -> age++ :: else fi;
    if
    :: has -> mark_sent++; mark_answered++
    :: else
    fi;
    /* A connection without an answer is given up; an old mark proves nothing any more. */
    if :: age > T / 3 -> over = true; call = IDLE; age = 0 :: else fi;
    if :: over || mark_sent > LAST -> has = false :: else fi;
    if :: !has -> mark_sent = 0; mark_answered = 0; slowest = 0 :: else fi
}

inline tick() {
    asked < T / 4 || cut || ended || to_follower ?? [QUESTION] ->
    if :: lease > 0 -> lease-- :: else fi;
    if :: asked < T / 4 -> asked++ :: else fi;
    if
    :: to_follower ?? [QUESTION] ->
#ifdef SLOW_LINK
       skip
#else
       cut = true
#endif
    :: else
    fi;
#ifdef DRIFT
    if
    :: steady == RATE - 1 -> steady = 0
    :: steady < RATE - 1 -> steady++; client_ticks()
    :: steady == RATE - 1 -> client_ticks()
    fi
#else
    client_ticks()
#endif
}

active proctype client()
{
end:
    do
    :: atomic { send(false) }
    :: atomic { send(true) }
    :: atomic { answered() }
    od
}

active proctype follower()
{
    byte message;

end:
    do
    :: atomic { call == SENT && !write -> heard = true; call = UNDER_WAY }
    :: atomic { call == SENT && write && nfull(to_leader) ->
           heard = true; call = AT_SERVER; to_leader ! WRITE }
    :: atomic { !cut && nempty(to_follower) && nfull(to_leader) ->
           to_follower ? message;
           if
           :: message == QUESTION ->
              if :: heard -> heard = false; to_leader ! HEARD :: else fi
           :: message == COMMIT && over
           :: message == COMMIT && !over -> call = UNDER_WAY
           fi;
           message = 0 }
    od
}

active proctype leader()
{
    byte message;

end:
    do
    :: atomic { !ended && asked > 0 && !(to_follower ?? [QUESTION]) && nfull(to_follower) ->
           asked = 0; to_follower ! QUESTION }
    :: atomic { !ended && nempty(to_leader) && nfull(to_follower) ->
           to_leader ? message;
           if
           :: message == HEARD -> lease = T
           :: message == WRITE -> to_follower ! COMMIT
           fi;
           message = 0 }
    :: atomic { lease == 0 && !ended -> assert(left == 0); ended = true }
    od
}

active proctype clocks()
{
end:
    do
    :: atomic { tick() }
    od
}
