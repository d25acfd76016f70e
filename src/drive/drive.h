/* drive.h - who turns the engine: a thread of ours, your loop, or the caller.
 *
 * An engine is turned by one thread at a time, whichever that is.  The one that
 * turns it owns it for that long, without holding the mutex, so that nobody
 * waits for a slow store longer than he wants to.  Everybody else leaves notes
 * under the mutex (hf_drive_post) and reads what was made visible under it:
 *
 *     collect   under the mutex    take what was left for the engine
 *     turn      without it         do the work; the store is called here
 *     publish   under the mutex    make the results visible
 *     deliver   without it         call the user's callbacks
 *
 * Whoever waits for a result also polls for the engine, so that an answer
 * wakes the thread that wants it and no other: it is the driver.  If nobody
 * waits, the keeper is.  Since handing the role to and fro would cost two
 * wake-ups per call, the keeper takes it back only after a moment of quiet.
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

/* A thread that waits for something to be so. */
struct hf_sleeper {
    bool (*settled)(void *arg);
    void              *arg;
    hf_time            deadline;
    sem_t              sem;
    bool               called; /* it is woken, or is about to be */
    struct hf_sleeper *next;
};

struct hf_drive {
    const struct hf_drive_ops *ops;
    void                      *owner;

    pthread_mutex_t mutex; /* guards all that follows, and the owner's notes */
    bool            turning;
    bool            posted;  /* there is something to collect */
    bool            pending; /* there is something to deliver */
    hf_time         wake;    /* when the next turn is due */

    int     fd;     /* the store's */
    int     timer;  /* CLOCK_BOOTTIME, so that sleep of the machine counts */
    int     kick;   /* ends the poll of a driver, or of the caller's own loop */
    bool    kicked; /* ... and does so now */
    int     epoll;  /* all of these, for the caller's own loop; -1: not made yet */
    hf_time armed;  /* what the timer is set to: `wake`, a deadline, or earlier */

    unsigned           watching; /* threads that poll the store's descriptor now */
    struct hf_sleeper *sleepers; /* first come first */
    struct hf_sleeper *driver;   /* the one that polls; NULL: the keeper may */
    bool               polling;  /* it is in poll, so only a kick reaches it */
    unsigned long      drives;   /* how often the role was taken */

    bool           has_keeper;
    bool           stop;
    bool           parked; /* the keeper waits for `keeper_cond`, not in poll */
    bool           deep;   /* and until it is told */
    int            keeper_kick;
    pthread_t      keeper;
    pthread_cond_t keeper_cond;
};

/* `fd` is the store's, lent.  Starts the keeper if asked for.  0 or an errno. */
int  hf_drive_init(struct hf_drive *drive, const struct hf_drive_ops *ops, void *owner,
                   int fd, bool keeper);
void hf_drive_finish(struct hf_drive *drive);

/* Take and give back the mutex.  In between the thread cannot be canceled:
 * what begin() returns is to be handed to end(). */
int  hf_drive_begin(struct hf_drive *drive);
void hf_drive_end(struct hf_drive *drive, int cancel_state);

/* All that follow: with the mutex held. */

/* Something was left for the engine.  Nobody is woken yet. */
void hf_drive_post(struct hf_drive *drive);

/* Have it collected soon by the keeper, the driver, or the caller's loop. */
void hf_drive_nudge(struct hf_drive *drive);

/* Have it sent now, by this thread if there is a keeper, which then looks at the
 * answer a moment later: cheaper where nobody is in a hurry for it. */
void hf_drive_send(struct hf_drive *drive);

/* Have what is pending delivered by the keeper or the caller's loop. */
void hf_drive_announce(struct hf_drive *drive);

/* Turn now, if nobody else does.  If nobody watches the store's descriptor, as
 * when the keeper is busy with a callback, the store is told to look itself. */
void hf_drive_turn(struct hf_drive *drive, bool readable);

/* The same by one who polls next.  So the store need not look for answers, unless
 * something is due: it must not give up a server whose answer is there already. */
void hf_drive_turn_first(struct hf_drive *drive);

/* Wait, driving the engine if nobody else does, until settled(arg), which is
 * called with the mutex held.  0, or HF_ETIMEOUT past the deadline. */
int hf_drive_wait(struct hf_drive *drive, bool (*settled)(void *arg), void *arg,
                  hf_time deadline);

/* Something that sleepers wait for was changed outside a turn. */
void hf_drive_rouse(struct hf_drive *drive);

/* One round of the caller's own loop. */
void hf_drive_process(struct hf_drive *drive);

/* The descriptor for the caller's own loop, or HF_ESTORE. */
int hf_drive_fd(struct hf_drive *drive);

/* For the drive's own files. */
void hf_drive_poll(struct hf_drive *drive, int kick);
void hf_drive_arm(struct hf_drive *drive,
                  hf_time          when); /* whoever polls wakes up by then */
void hf_drive_deliver(struct hf_drive *drive);
void hf_drive_call_keeper(struct hf_drive *drive);
void hf_drive_call_first(
    struct hf_drive *drive);                  /* of those who wait, if any: to drive */
int  hf_keeper_start(struct hf_drive *drive); /* 0 or an errno */
void hf_keeper_stop(struct hf_drive *drive);

#endif
