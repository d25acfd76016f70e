/* drive.h - which thread turns the engine: the keeper, a caller that waits, or the
 * caller's own loop.
 *
 * One thread at a time turns the engine.  It owns the engine for that long without
 * holding the mutex, so that a slow store does not delay other threads.  They post
 * their operations under the mutex (hf_drive_post) and read results that were published
 * under it:
 *
 *     collect   under the mutex    take what was posted for the engine
 *     turn      without it         do the work; the store is called here
 *     publish   under the mutex    make the results visible
 *     deliver   without it         call the user's callbacks
 *
 * Some thread has to poll for the engine: the polling thread.  It is a thread that
 * waits for a result, so that an answer wakes the thread that needs it and no other.
 * If no thread waits, the keeper polls.  Passing the role back and forth would cost two
 * wake-ups per call, so the keeper takes it back only after a moment of quiet.
 */
#ifndef HF_DRIVE_H
#define HF_DRIVE_H

#include "base/clock.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

struct hf_drive_ops {
    void (*collect)(void *owner);
    void (*turn)(void *owner, hf_time now, bool readable);
    hf_time (*publish)(void *owner); /* returns when the next turn is due */
    void (*deliver)(void *owner);
};

/* A thread that waits until settled() is true. */
struct hf_sleeper {
    bool (*settled)(void *arg);
    void              *arg;
    hf_time            deadline;
    sem_t              sem;
    bool               called; /* it was woken, or is about to be */
    struct hf_sleeper *next;
};

/* A function that must run while no thread turns the engine. */
struct hf_errand {
    void (*run)(void *arg);
    void             *arg;
    bool              done;
    struct hf_errand *next;
};

struct hf_drive {
    const struct hf_drive_ops *ops;
    void                      *owner;

    pthread_mutex_t mutex; /* guards all that follows, and what is posted */
    bool            turning;
    bool            posted;  /* there is something to collect */
    bool            pending; /* there is something to deliver */
    hf_time         wake;    /* when the next turn is due */

    int     fd;     /* the store's */
    int     timer;  /* CLOCK_BOOTTIME, so that sleep of the machine counts */
    int     kick;   /* interrupts the polling thread, or the caller's own loop */
    bool    kicked; /* it is readable now */
    int     epoll;  /* all of these, for the caller's own loop; -1: not created yet */
    hf_time armed;  /* what the timer is set to: `wake`, a deadline, or earlier */

    struct hf_errand  *errands;   /* posted while a thread turns */
    unsigned           watching;  /* threads that poll the store's descriptor now */
    struct hf_sleeper *sleepers;  /* in the order in which they came */
    struct hf_sleeper *poller;    /* the polling thread; NULL: the keeper may poll */
    bool               polling;   /* it is inside poll(), so only `kick` wakes it */
    unsigned long      takeovers; /* how often a thread became the polling thread */

    bool           has_keeper;
    bool           stop;
    bool           parked; /* the keeper waits for `keeper_cond`, not in poll() */
    bool           deep;   /* and has no timeout there */
    int            keeper_kick;
    pthread_t      keeper;
    pthread_cond_t keeper_cond;
};

/* `fd` is the store's, lent.  Starts the keeper if asked for.  0 or an errno. */
int  hf_drive_init(struct hf_drive *drive, const struct hf_drive_ops *ops, void *owner,
                   int fd, bool keeper);
void hf_drive_finish(struct hf_drive *drive);

/* Lock and unlock the mutex.  In between the thread cannot be canceled: pass the value
 * that begin() returned to end(). */
int  hf_drive_begin(struct hf_drive *drive);
void hf_drive_end(struct hf_drive *drive, int cancel_state);

/* All that follow: with the mutex held. */

/* Something was posted for the engine.  Wakes nobody yet. */
void hf_drive_post(struct hf_drive *drive);

/* Wake the keeper, the polling thread or the caller's loop to collect it soon. */
void hf_drive_nudge(struct hf_drive *drive);

/* Send it now, from this thread if there is a keeper, which reads the answer a moment
 * later: cheaper if nobody waits for the answer. */
void hf_drive_send(struct hf_drive *drive);

/* Wake the keeper or the caller's loop to deliver what is pending. */
void hf_drive_announce(struct hf_drive *drive);

/* Turn now, unless another thread does.  If nobody polls the store's descriptor, as
 * when the keeper runs a callback, the store is told that it may be readable. */
void hf_drive_turn(struct hf_drive *drive, bool readable);

/* The same in a thread that will poll next unless this turn settles its wait.  So the
 * store need not read answers, unless
 *   - a timer is due: it must not give up a server whose answer has arrived already;
 *   - the keeper is neither polling nor parked: it runs a callback, and if every turn
 *     settles a wish, as in a file, no other thread would ever read. */
void hf_drive_turn_first(struct hf_drive *drive);

/* Wait until settled(arg), which is called with the mutex held; poll and turn if no
 * other thread does.  0, or HF_ETIMEOUT past the deadline. */
int hf_drive_wait(struct hf_drive *drive, bool (*settled)(void *arg), void *arg,
                  hf_time deadline);

/* Call run(arg), with the mutex held, while no thread turns the engine: it may use the
 * engine and the store.  If a thread is turning now, that thread calls it before its next
 * turn.  So nobody has to wait for the end of a turn, which is no event that wakes a
 * sleeper.  Not from within a turn. */
void hf_drive_run(struct hf_drive *drive, void (*run)(void *arg), void *arg);

/* Wake the sleepers that are settled: something changed outside a turn. */
void hf_drive_rouse(struct hf_drive *drive);

/* One round of the caller's own loop. */
void hf_drive_process(struct hf_drive *drive);

/* The descriptor for the caller's own loop, or HF_ESTORE. */
int hf_drive_fd(struct hf_drive *drive);

/* ---- Between loop.c, wait.c and keeper.c ------------------------------------------- */

void hf_drive_poll(struct hf_drive *drive, int kick);
void hf_drive_deliver(struct hf_drive *drive);
void hf_drive_run_errands(struct hf_drive *drive);

/* Have poll() end by then. */
void hf_drive_arm(struct hf_drive *drive, hf_time when);

/* Wake the keeper; wake the first sleeper, if any, to become the polling thread. */
void hf_drive_call_keeper(struct hf_drive *drive);
void hf_drive_call_first(struct hf_drive *drive);

int  hf_keeper_start(struct hf_drive *drive); /* 0 or an errno */
void hf_keeper_stop(struct hf_drive *drive);

#endif
