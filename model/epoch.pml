/* epoch.pml - Redis loses data: epochs, the grace period, and places that are reclaimed.
 *
 * A client and another one take a mutex again and again.  NLOSS times the server is emptied, and
 * its connections stay (FLUSHALL); or it is restarted with the data that it saved at some time.
 * Once, somebody may break the client's place, which learns that at some time.
 * Leases and deadlines are counted down from TTL.  Calls of the client take any time, and their
 * answers get lost; it pauses anywhere, and when it wakes up it may read an answer before it looks
 * at its clock.  Calls of the other one take no time, except after a loss, when it reclaims its
 * place in time or not.
 *
 * Shown: never two that hold the lock and whose deadlines have not passed; except that a broken
 * client may go on until it learns that, or until the grace period is over.
 *
 * Assumed: deadlines are right as long as the data are (lease.pml); the server knows that
 * the namespace was in use (the canary); data are replaced only by a restart, which breaks all
 * connections.
 * Left out: tokens, which jump; read-only clients; claims; pieces; Sentinels and replicas; a
 * server's clock that is set.
 *
 * good: NLOSS=1
 * broken NO_GRACE NLOSS=1: the server grants at once after it lost data
 * broken LATE_RECLAIM NLOSS=1: places are reclaimed after the grace period
 * broken OVERTAKEN NLOSS=1: what a message granted before ENTER was answered counts after a loss, too
 * broken SAME_SECRET NLOSS=1: so does such a message that is read only after the place was reclaimed
 * broken BOTH_BACK NLOSS=1: a broken client and its successor both get the lock back
 * broken NO_EPOCH NLOSS=1: calls and answers do not carry the epoch
 *
 * actions
 *     hello      src/store/redis/scripts/hello.lua; hf_redis_hello in src/store/redis/session/hello.c
 *     begin_epoch  src/store/redis/scripts/hello.lua; may_have_lost_data in src/store/redis/scripts/server.lua
 *     take_hello  take_hello in src/store/redis/session/hello.c
 *     reclaim    src/store/redis/scripts/reclaim.lua; hf_redis_reclaim, put_down in src/store/redis/session/reclaim.c
 *     come_back  may_come_back in src/store/redis/scripts/reclaim.lua
 *     reclaimed  hf_served_forget_overtaking in src/store/served/place.c; on_reclaimed in src/store/redis/session/reclaim.c; hf_redis_reclaimed in src/store/redis/session/session.c
 *     renew      src/store/redis/scripts/renew.lua; hf_redis_renew in src/store/redis/session/renew.c
 *     extend     hf_redis_session_renewed, hf_redis_session_extend in src/store/redis/session/session.c
 *     refused    refusal in src/store/redis/scripts/base.lua
 *     enter      src/store/redis/scripts/enter.lua; fits in src/store/redis/scripts/line.lua
 *     advance    advance, refresh, in_grace in src/store/redis/scripts/line.lua
 *     notified   on_granted in src/store/served/place.c
 *     entered    on_entered in src/store/served/verbs.c; take_note in src/store/served/answer.c
 *     granted    hold_it in src/core/hold.c
 *     broken_off  src/store/redis/scripts/break.lua
 *     hear_of_it  hf_served_message in src/store/served/place.c
 *     leave      src/store/redis/scripts/leave.lua; hf_served_leave in src/store/served/verbs.c
 *     sweep      sweep, end_session in src/store/redis/scripts/line.lua
 *     restart    hf_redis_session_restart in src/store/redis/session/session.c; on_gone in src/core/hold.c
 *     expired    lose in src/core/hold.c; hf_engine_turn in src/client/engine.c
 *
 * of the model alone: check, lose_data
 */
#ifndef NLOSS
#define NLOSS 1
#endif
#ifndef TTL
#define TTL 3
#endif
#ifdef NO_GRACE
#define GRACE 0
#else
#define GRACE TTL
#endif

#ifdef LATE_RECLAIM
#define TOO_LATE false
#define IS_LATE false
#else
#define TOO_LATE (grace == 0)
#define IS_LATE (left == 0)
#endif
#ifdef BOTH_BACK
#define HAS_ROOM true
#else
#define HAS_ROOM false
#endif
#ifdef NO_EPOCH
#define OTHER_EPOCH(known, present) false
#else
#define OTHER_EPOCH(known, present) (known != present)
#endif

mtype { NONE, ASKED, WAITS, GRANTED }; /* ASKED: ENTER was sent, and not answered yet */
mtype { DONE, EPOCH, GONE };

/* The server */
mtype place = NONE;  /* the client's */
byte  lease;         /* of its session; 0: there is none, or a dead one */
bool  other;         /* the other one's place is granted */
byte  grace;
byte  epoch = 1;     /* 0: the data are lost */
byte  epochs = 1;    /* begun so far */
bool  same = true;   /* this run of the server wrote the data */
byte  losses;
bool  back;          /* the client's place was reclaimed in this epoch */
bool  other_back;    /* so was the other one's */
bool  breaks;        /* there was one */
/* What it saved */
bool  has_saved;
mtype saved_place = NONE;
byte  saved_lease, saved_grace, saved_epoch;
bool  saved_other;
/* The client */
bool  connected;
byte  known;         /* the epoch; 0: it has no session */
mtype knows = NONE;  /* how its place stands, as it knows it */
bool  unreclaimed;
bool  holds;         /* it has been granted the lock, and has not noticed a loss */
byte  left;          /* until its deadline */
byte  age;           /* since hello, or the renewal, was sent */
bool  busy;          /* ... which is not answered yet */
bool  subscribed;
bool  message;       /* "g" is under way */
bool  told;          /* it came before the answer to ENTER */
bool  unaware;       /* its place was broken, and it goes on */
/* The other one */
bool  other_holds;
byte  other_left;    /* until its deadline, once its place is lost */

inline check() { assert(!(holds && left > 0 && other_holds && !unaware)) }

inline begin_epoch() {
    if :: !same -> epochs++; epoch = epochs; same = true; grace = GRACE; back = false; other_back = false
    :: else
    fi
}

inline refused() {
    if
    :: OTHER_EPOCH(known, epoch) -> code = EPOCH
    :: !OTHER_EPOCH(known, epoch) && lease == 0 -> code = GONE
    :: else -> code = DONE
    fi
}

inline hello() {
    begin_epoch();
    if
    :: known != 0 && lease == 0 && (known == epoch || grace == 0) -> place = NONE; code = GONE
    :: else -> lease = TTL; code = DONE
    fi;
    answer = epoch
}

/* The deadline counts from when hello, or the renewal, was sent. */
inline extend() {
    if :: TTL - age > left -> left = TTL - age :: else fi;
    busy = false; age = 0;
    check()
}

/* If data were lost, our place has to be reclaimed, unless its deadline has passed. */
inline take_hello() {
    unreclaimed = unreclaimed || (known != 0 && OTHER_EPOCH(known, answer));
    known = answer; answer = 0;
    if :: unreclaimed && IS_LATE && knows != NONE -> goto lost :: else fi
}

inline reclaim() {
    refused();
    if
    :: code == DONE && TOO_LATE -> code = GONE
    :: code == DONE && !TOO_LATE && knows != ASKED -> come_back()
    :: code == DONE && !TOO_LATE && knows == ASKED && place == GRANTED -> /* of old data */
       if
       :: other && other_back && !HAS_ROOM -> place = NONE
       :: else -> back = true
       fi
    :: else
    fi
}

/* No more than fits.  A model of one place: who loses it, loses the session as well. */
inline come_back() {
    if
    :: knows == GRANTED && other && other_back && !HAS_ROOM -> code = GONE
    :: else -> place = knows; back = (knows == GRANTED)
    fi
}

inline broken_off() {
    !breaks && same && grace == 0 && place == GRANTED -> breaks = true; place = NONE; unaware = true
}

inline hear_of_it() { unaware && connected && place == NONE ->
    unaware = false; holds = false; knows = NONE; message = false; told = false;
    saved_place = NONE /* the next place has another id */
}

inline reclaimed() {
    unreclaimed = false;
#ifndef OVERTAKEN
    if :: knows == ASKED -> told = false :: else fi;
#endif
#ifndef SAME_SECRET
    if :: knows != GRANTED -> message = false :: else fi; /* it has another secret now */
#endif
    extend()
}

inline renew() { refused(); if :: code == DONE -> lease = TTL :: else fi }

inline enter() {
    refused();
    if
    :: code == DONE && place == NONE -> /* not that of before a break */
           place = ((!other && grace == 0) -> GRANTED : WAITS);
           if :: unaware -> unaware = false; message = false; told = false; saved_place = NONE :: else fi
    :: else
    fi
}

inline granted() { knows = GRANTED; holds = true; check() }

/* A message that grants the place, by its id and secret.  Before ENTER is answered, it counts
 * as soon as that is. */
inline notified() {
    message ->
    message = false;
    if
    :: knows == WAITS -> granted()
    :: knows == ASKED -> told = true
    :: else
    fi
}

inline entered() {
    knows = (told -> GRANTED : got); got = NONE; told = false;
    if :: knows == GRANTED -> granted() :: else fi
}

/* The next place has another id.  What was saved of this one could only block others. */
inline leave() {
    refused();
    if :: code == DONE -> place = NONE :: else fi;
    saved_place = NONE
}

/* The client looks at its clock. */
inline expired() { left == 0 && holds -> holds = false; unaware = false }

/* Another session.  The old one may be in the data, but blocks nobody longer than it has to. */
inline restart() {
    known = 0; unreclaimed = false; knows = NONE; holds = false; unaware = false; left = 0; message = false; told = false;
    place = NONE; lease = 0; saved_place = NONE; saved_lease = 0
}

inline advance() {
    grace == 0 && same && place == WAITS && !other -> place = GRANTED; message = subscribed
}

inline sweep() { lease == 0 && place != NONE -> place = NONE }

inline lose_data() {
    losses++;
    same = false;
    if :: other_holds -> other_left = TTL :: else fi
}

active proctype client()
{
    byte  answer;
    mtype code = DONE, got = NONE;

greet:
    atomic { connected = true; busy = true; age = 0; code = DONE }
    if :: atomic { connected -> hello() } :: goto broken fi;
    if
    :: atomic { code == GONE -> goto lost }
    :: atomic { code == DONE -> take_hello(); if :: !unreclaimed -> extend(); goto ready :: else fi }
    :: goto broken
    fi;
    if :: atomic { connected -> reclaim() } :: goto broken fi;
    if
    :: atomic { code == DONE -> reclaimed() }
    :: atomic { code == GONE -> goto lost }
    :: atomic { code == EPOCH -> goto broken }
    :: goto broken
    fi;
ready:
    subscribed = connected;
    do
    :: atomic { goto broken }
    :: atomic { expired() }
    :: atomic { hear_of_it() }
    :: atomic { notified() }
    :: atomic { connected -> busy = true };
       if :: atomic { connected -> renew() } :: goto broken fi;
       if
       :: atomic { code == DONE -> extend() }
       :: atomic { code == EPOCH -> goto greet }
       :: atomic { code == GONE -> goto lost }
       :: goto broken
       fi
    :: atomic { connected && (knows == NONE || knows == ASKED) -> knows = ASKED; enter(); got = place };
       if
       :: atomic { code == DONE -> entered() }
       :: atomic { code == DONE && message -> notified() }; goto broken
       :: atomic { code == EPOCH -> goto greet }
       :: atomic { code == GONE -> goto lost }
       :: goto broken
       fi
    :: atomic { connected && knows == WAITS -> /* read */
           refused();
           if
           :: code == DONE && place == GRANTED -> granted()
           :: code == DONE && place == NONE -> knows = NONE
           :: code == EPOCH -> code = DONE; goto greet
           :: code == GONE -> goto lost
           :: else
           fi }
    :: atomic { connected && knows == GRANTED -> knows = NONE; holds = false; unaware = false; message = false;
           leave();
           if :: code == EPOCH -> goto greet :: code == GONE -> goto lost :: else fi }
    od;
lost:
    atomic { restart() }
broken:
    atomic { connected = false; subscribed = false; message = false; busy = false; age = 0; code = DONE; answer = 0; got = NONE }
    do
    :: goto greet
    :: atomic { expired() }
    od
}

active proctype other_client()
{
    do
    :: atomic { !same -> begin_epoch() } /* its hello, or that of a third one */
    :: atomic { same && grace == 0 && !other && place == NONE && !other_holds ->
           other = true; other_holds = true; check() }
    :: atomic { other_holds && other -> other = false; other_holds = false; other_left = 0 }
    :: atomic { other && !other_holds -> other = false } /* it had left, or it is dead */
    :: atomic { other_holds && same && grace > 0 && !other_back ->
           if
           :: place == GRANTED && back && !HAS_ROOM -> other = false; other_holds = false; other_left = 0
           :: else -> other = true; other_back = true; other_left = 0
           fi }
    od
}

active proctype server()
{
    do
    :: atomic { broken_off() }
    :: atomic { advance() }
    :: atomic { sweep() }
    :: atomic { !has_saved && losses < NLOSS && same ->
           has_saved = true;
           saved_place = place; saved_lease = lease; saved_other = other;
           saved_grace = grace; saved_epoch = epoch }
    :: atomic { losses < NLOSS -> /* emptied */
           lose_data();
           place = NONE; lease = 0; other = false; grace = 0; epoch = 0 }
    :: atomic { losses < NLOSS && has_saved -> /* restarted */
           lose_data();
           place = saved_place; lease = saved_lease; other = saved_other;
           grace = saved_grace; epoch = saved_epoch;
           connected = false; subscribed = false; message = false }
    :: atomic { has_saved && losses == NLOSS ->
           has_saved = false; saved_place = NONE; saved_lease = 0; saved_other = false;
           saved_grace = 0; saved_epoch = 0 }
    :: d_step { /* time goes by */
           true ->
           if :: lease > 0 -> lease-- :: else fi;
           if :: saved_lease > 0 -> saved_lease-- :: else fi;
           if
           :: grace > 1 -> grace--
           :: grace == 1 -> grace = 0; unaware = false
           :: else
           fi;
           if :: saved_grace > 0 -> saved_grace-- :: else fi;
           if :: left > 0 -> left-- :: else fi;
           if :: busy && age < TTL -> age++ :: else fi;
           if
           :: other_left > 1 -> other_left--
           :: other_left == 1 -> other_left = 0; other_holds = false
           :: else
           fi }
    od
}
