/* queue.pml - one mutex on ZooKeeper: lost answers, dead sessions, broken places.
 *
 * Each client takes the lock ROUNDS times.  A call is one step of the server.  NLOST times
 * the connection breaks with a call in flight: the server carries the call out or not, and
 * the client does not learn which.  NEXPIRE times a session of a live client expires.
 * NCRASH clients die; their sessions expire later.  NBREAK times somebody breaks a place, which
 * writes to the folder, too.  NREAP times the server removes the folder, when it is empty.
 *
 * Shown: never two holders; every waiter gets the lock in the end; a release that answers 0
 * (S8) was not preceded by somebody else's grant.
 *
 * Assumed: a holder stops before its session expires (lease.pml shows that).  A call on a
 * broken connection is carried out before the next greeting, or never.  A barrier stands in
 * front of the listing that recovers a place, so every listing here is up to date.
 * Left out: readers, semaphores, claims, groups, unreadable nodes, watches of the folder.
 *
 * good: NC=3 NLOST=1 NEXPIRE=1
 * good: NC=2 ROUNDS=2 NLOST=2 NEXPIRE=1
 * good: NC=4
 * good: NC=3 NCRASH=1 NEXPIRE=1
 * good: NC=3 NBREAK=1 NEXPIRE=1
 * good: NC=3 NLOST=1 NBREAK=1
 * good: NC=2 ROUNDS=2 NLOST=1 NBREAK=1 NEXPIRE=1
 * good: NC=2 ROUNDS=2 NLOST=1 NBREAK=1 NREAP=1
 * broken BLIND_RETRY NC=2 NLOST=1: a create without an answer is sent again
 * broken BLIND_WATCH NC=2: a watch is set without a check that the place still exists
 * broken ADOPT NC=2 NEXPIRE=1: a holder whose session died enters again, and holds on
 * broken LEAVE_FIRST NC=3 NBREAK=1: a release deletes the first place, whoever has it
 * broken NO_OWN_WATCH NC=3 NBREAK=1: a waiter is granted by an event, its own node unwatched
 * broken BLIND_LEAVE NC=2 NLOST=1 NBREAK=1: a node that is not found again counts as released
 * broken NO_FOLDER NC=2 ROUNDS=2 NLOST=1 NBREAK=1 NREAP=1: so does one whose folder was removed
 * limit BY_HAND NC=2 NLOST=1 NBREAK=1: somebody deletes a node, and does not write to the folder
 *
 * actions
 *     create     take_place, place_made in src/store/zookeeper/enter.c
 *     list       hf_zk_line_list in src/store/zookeeper/line/listing.c; hf_zk_judge in src/store/zookeeper/wait/decide.c
 *     recover    hf_zk_recover, on_listed_to_recover in src/store/zookeeper/line/recover.c; hf_zk_own_found in src/store/zookeeper/line/own.c
 *     choose     hf_zk_choose_places in src/store/zookeeper/wait/decide.c
 *     watch      listen_ahead, fall_asleep in src/store/zookeeper/wait/wait.c
 *     hear       hf_zk_decide, can_sleep in src/store/zookeeper/wait/decide.c; pass in src/store/zookeeper/wait/wait.c
 *     hold       hold_it in src/core/hold.c
 *     drop       on_drop in src/core/hold.c
 *     infer      leave_recovered in src/store/zookeeper/leave.c
 *     delete     leave_place, place_deleted in src/store/zookeeper/leave.c
 *     left       on_left in src/core/hold.c
 *     gone       on_gone in src/core/hold.c; hf_zk_link_lose in src/store/zookeeper/wire/link.c
 *     expire     hf_zk_link_take_greeting in src/store/zookeeper/wire/link.c
 *     break_place hf_zk_break in src/store/zookeeper/others.c; on_own_node_news in src/store/zookeeper/watches/own_node.c
 *
 * of the model alone: crash, remove, reap
 */
#ifndef NC
#define NC 2
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef NLOST
#define NLOST 0
#endif
#ifndef NEXPIRE
#define NEXPIRE 0
#endif
#ifndef NCRASH
#define NCRASH 0
#endif
#ifndef NBREAK
#define NBREAK 0
#endif
#ifndef NREAP
#define NREAP 0
#endif
#define PLACES (NC * ROUNDS + NLOST + NEXPIRE + NBREAK)
#define NOBODY 255
#define BIT(number) (1 << (number))

byte owner[PLACES + 1] = NOBODY; /* of the node with that number; numbers start at 1 */
int  nodes;                      /* those that exist, as bits */
byte numbers;                    /* given out so far */
bool alive[NC];                  /* the server has a session of this client */
bool dead[NC];                   /* this client's process has died */
bool holds[NC];                  /* this client acts as the holder */
bool victim[NC];                 /* its place was broken while it held the lock */
bool passed[NC];                 /* somebody else was granted the lock since */
byte written;                    /* numbers, when the folder was last written; NOBODY: no folder */
byte lost, expired, crashed, broken, reaped;

inline remove(number) {
    nodes = nodes & ~BIT(number);
    owner[number] = NOBODY
}

/* Also of a client that closes its session.  A holder's deadline comes first. */
inline expire(c) {
    holds[c] = false;
    alive[c] = false;
    n = 1;
    do
    :: n <= numbers -> if :: owner[n] == c -> remove(n) :: else fi; n++
    :: else -> n = 0; break
    od
}

inline create(c) {
    numbers++;
    assert(numbers <= PLACES);
    owner[numbers] = c;
    nodes = nodes | BIT(numbers);
    if :: written == NOBODY -> written = numbers - 1 :: else fi;
    my = numbers
}

/* Our node, by its uuid; 0: there is none. */
inline recover(c) {
    my = numbers;
    do
    :: my > 0 && owner[my] != c -> my--
    :: else -> break
    od
}

/* The node `was` is not there.  Did we delete it?  Not if somebody may have broken it. */
inline infer(was) {
#if defined(BLIND_LEAVE)
    by_us = true
#elif defined(NO_FOLDER)
    by_us = was > written || written == NOBODY
#else
    by_us = was > written
#endif
}

/* Places ahead, as bits. */
inline list() {
    ahead = nodes & (BIT(my) - 1);
    heard = 0
}

/* The nearest two places ahead. */
inline choose() {
    heard = ahead;
    n = 1;
    do
    :: n < my && (heard & (heard - 1)) != 0 && (heard & (heard - 1) & ((heard & (heard - 1)) - 1)) != 0 ->
       heard = heard & ~BIT(n); n++ /* three or more: drop the farthest */
    :: else -> n = 0; break
    od
}

/* SET_WATCHES: of a node that does not exist any more, the server sends the event at once. */
inline watch() {
#ifdef BLIND_WATCH
    deaf = heard & ~nodes
#else
    deaf = 0
#endif
}

/* Events: places that we listen to have ended. */
inline hear() {
    ahead = ahead & ~(heard & ~nodes & ~deaf);
    heard = heard & ahead
}

inline hold(c) {
    n = 0;
    do
    :: n < NC ->
       assert(!holds[n] || victim[n]);
       if :: n != c -> passed[n] = true :: else fi;
       n++
    :: else -> n = 0; break
    od;
    holds[c] = true;
    victim[c] = false;
    if :: adopts -> adopts = false :: else -> passed[c] = false fi
}

/* A release: from here on the caller does not act under the lock any more. */
inline drop(c) {
    ours = holds[c]; /* else its deadline has passed: HF_ELOST */
    holds[c] = false
}

/* `found`: it was there, so it was ours to the end. */
inline delete(c) {
#ifdef LEAVE_FIRST
    my = 1;
    do
    :: my <= numbers && owner[my] == NOBODY -> my++
    :: else -> break
    od;
    found = my <= numbers;
    if :: found -> remove(my) :: else fi
#else
    found = owner[my] == c;
    if :: found -> assert(!ours || !passed[c]); remove(my) :: else fi
#endif
}

/* LEAVE is answered: by 0 if `zero`. */
inline left(c, zero) {
    assert(!(zero) || !ours || found || !passed[c]);
    my = 0; ours = false; found = false
}

/* The client learns that its session is dead. */
inline gone(c) {
    my = 0; ahead = 0; heard = 0; deaf = 0; ours = false; found = false
}

inline crash(c) {
    crashed < NCRASH -> crashed++;
    holds[c] = false;
    dead[c] = true
}

inline break_place() {
    broken < NBREAK && numbers > 0 ->
    broken++;
    select(n : 1 .. numbers);
    if
    :: owner[n] != NOBODY ->
       if :: holds[owner[n]] -> victim[owner[n]] = true :: else fi;
       remove(n);
#ifndef BY_HAND
       written = numbers
#endif
    :: else
    fi;
    n = 0
}

/* Numbers start afresh then; tokens do not, and they are what counts here. */
inline reap() {
    reaped < NREAP && nodes == 0 && written != NOBODY ->
    reaped++;
    written = NOBODY
}

proctype client(byte c)
{
    byte n, my, round;
    int  ahead, heard, deaf;
    bool ours, found, adopts, by_us;

next:
    if :: round == ROUNDS -> goto close :: else -> round++ fi;
enter_anew:
    atomic { gone(c); alive[c] = true }
enter:
    atomic {
        if
        :: !alive[c] -> goto enter_anew
        :: alive[c] -> create(c)
        :: alive[c] && lost < NLOST -> lost++; if :: create(c) :: skip fi; my = 0; goto unsure
        fi
    }
listing:
    atomic {
        if
        :: !alive[c] -> goto enter_anew
        :: alive[c] && owner[my] != c -> my = 0; goto enter
        :: else -> list(); if :: ahead == 0 -> hold(c); goto holding :: else -> choose() fi
        fi
    }
    atomic { if :: !alive[c] -> goto enter_anew :: else -> watch() fi }
asleep:
    atomic {
        !alive[c] || owner[my] != c || (heard & ~nodes & ~deaf) != 0 ->
        hear();
        if
        :: !alive[c] -> goto enter_anew
#ifndef NO_OWN_WATCH
        :: alive[c] && owner[my] != c -> my = 0; goto enter
#endif
        :: else ->
           if
           :: ahead == 0 -> hold(c); goto holding
           :: heard != 0 && ((heard & (heard - 1)) != 0 || heard == ahead) -> goto asleep
           :: else -> goto listing
           fi
        fi
    }
unsure:
    atomic {
        if
        :: !alive[c] -> goto enter_anew
        :: else ->
#ifndef BLIND_RETRY
           recover(c);
#endif
           if :: my == 0 -> goto enter :: else -> goto listing fi
        fi
    }
holding:
    if
    :: skip
    :: atomic { crash(c); goto done }
    :: atomic { holds[c] -> holds[c] = false } /* its deadline has passed */
#ifdef ADOPT
    :: atomic { !alive[c] -> adopts = true; goto enter_anew }
#endif
    fi;
    atomic { drop(c) }
leave:
    atomic {
        if
        :: !alive[c] -> left(c, false)
        :: alive[c] -> delete(c); left(c, found)
        :: alive[c] && lost < NLOST -> lost++; if :: delete(c) :: skip fi; goto unsure_left
        fi
    }
    goto next;
unsure_left:
    atomic {
        if
        :: !alive[c] -> left(c, false); goto next
        :: else ->
           n = my;
           recover(c);
           if
           :: my != 0 -> n = 0; goto leave
           :: else -> infer(n); n = 0; left(c, by_us); by_us = false; goto next
           fi
        fi
    }
close:
    atomic { expire(c) }
done:
    skip
}

/* The server ends a session. */
proctype session(byte c)
{
    byte n;

end:
    do
    :: atomic { alive[c] && dead[c] -> expire(c) }
    :: atomic { alive[c] && !dead[c] && expired < NEXPIRE -> expired++; expire(c) }
    od
}

proctype administrator()
{
    byte n;

end:
    do
    :: atomic { break_place() }
    :: atomic { reap() }
    od
}

init {
    byte i;

    atomic {
        do
        :: i < NC -> run client(i); run session(i); i++
        :: else -> break
        od;
        run administrator()
    }
}
