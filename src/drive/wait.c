/* wait.c - a blocking call is an asynchronous one plus this; see drive.h. */
#include "drive/drive.h"

#include "holdfast.h"

#include <assert.h>

static void append(struct hf_drive *drive, struct hf_sleeper *sleeper)
{
    struct hf_sleeper **at = &drive->sleepers;

    sem_init(&sleeper->sem, 0, 0);
    while (*at != NULL)
        at = &(*at)->next;
    *at = sleeper;
    hf_drive_arm(drive, sleeper->deadline);
}

/* Give the role on: to the next that waits, or to the keeper, which notices by
 * itself unless it sleeps deeply.  One who was called to drive and found that
 * he is done must call the next. */
static void stop_driving(struct hf_drive *drive)
{
    drive->driver = NULL;
    if (drive->sleepers != NULL)
        hf_drive_call_first(drive);
    else if (drive->deep)
        hf_drive_call_keeper(drive);
}

/* Take the call that has come, or is about to. */
static void take_call(struct hf_drive *drive, struct hf_sleeper *sleeper)
{
    pthread_mutex_unlock(&drive->mutex);
    while (sem_wait(&sleeper->sem) < 0)
        continue; /* a signal handler */
    pthread_mutex_lock(&drive->mutex);
    sleeper->called = false;
}

static void withdraw(struct hf_drive *drive, struct hf_sleeper *sleeper)
{
    struct hf_sleeper **at = &drive->sleepers;

    while (*at != sleeper) {
        assert(*at != NULL); /* nobody withdraws for another */
        at = &(*at)->next;
    }
    *at = sleeper->next;
    if (sleeper->called)
        take_call(drive, sleeper);
    if (drive->driver == sleeper || drive->driver == NULL)
        stop_driving(drive);
    sem_destroy(&sleeper->sem);
}

/* The one who polls calls us at the deadline, by a timer that counts while the machine sleeps.
 * The limit here is for when nobody polls, because a turn takes its time in the store.
 * sem_clockwait() knows no clock that counts sleep: such a wait may then end late, by what was
 * left of it when the machine went to sleep. */
static void sleep_until(struct hf_drive *drive, struct hf_sleeper *sleeper, hf_time now)
{
    hf_time         deadline = sleeper->deadline;
    struct timespec when;

    assert(now < deadline);
    if (deadline == HF_NEVER) {
        take_call(drive, sleeper);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &when);
    hf_time end = when.tv_sec * HF_SEC + when.tv_nsec + (deadline - now);
    when.tv_sec = end / HF_SEC;
    when.tv_nsec = end % HF_SEC;
    pthread_mutex_unlock(&drive->mutex);
    bool came = sem_clockwait(&sleeper->sem, CLOCK_MONOTONIC, &when) == 0;
    pthread_mutex_lock(&drive->mutex);
    if (came)
        sleeper->called = false;
}

static void drive_once(struct hf_drive *drive, struct hf_sleeper *sleeper)
{
    assert(drive->driver == NULL || drive->driver == sleeper);
    assert(!drive->turning); /* else the one who turns drives */
    if (drive->driver != sleeper) {
        drive->driver = sleeper;
        drive->drives++;
        if (drive->has_keeper && !drive->parked)
            hf_drive_call_keeper(drive); /* out of its poll */
    }
    hf_drive_poll(drive, drive->kick);
}

int hf_drive_wait(struct hf_drive *drive, bool (*settled)(void *arg), void *arg,
                  hf_time deadline)
{
    struct hf_sleeper sleeper = { .settled = settled, .arg = arg, .deadline = deadline };
    int               r = 0;

    /* The common case: our own turn settles it, and nobody need know. */
    if (drive->posted)
        hf_drive_turn_first(drive);
    if (settled(arg))
        return 0;

    append(drive, &sleeper);
    for (;;) {
        if (drive->posted && !drive->turning)
            hf_drive_turn_first(drive);
        if (settled(arg))
            break;
        hf_time now = hf_now();
        if (now >= deadline) {
            r = HF_ETIMEOUT;
            break;
        }
        if (drive->driver == &sleeper && drive->turning)
            drive->driver = NULL; /* whoever turns calls one of us when done */
        if (drive->turning || (drive->driver != NULL && drive->driver != &sleeper))
            sleep_until(drive, &sleeper, now);
        else
            drive_once(drive, &sleeper);
    }
    withdraw(drive, &sleeper);
    assert(drive->driver != &sleeper); /* it is about to go out of scope */
    return r;
}
