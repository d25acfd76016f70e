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

/* Pass the role of the polling thread to the next sleeper, or to the keeper, which
 * notices by itself unless it has no timeout.  A sleeper that was called to poll and is
 * already settled must call the next one. */
static void stop_polling(struct hf_drive *drive)
{
    drive->poller = NULL;
    if (drive->sleepers != NULL)
        hf_drive_call_first(drive);
    else if (drive->deep)
        hf_drive_call_keeper(drive);
}

/* Wait for the sem_post() that has come, or is about to. */
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
        assert(*at != NULL); /* each thread removes itself */
        at = &(*at)->next;
    }
    *at = sleeper->next;
    if (sleeper->called)
        take_call(drive, sleeper);
    if (drive->poller == sleeper || drive->poller == NULL)
        stop_polling(drive);
    sem_destroy(&sleeper->sem);
}

/* At the deadline the polling thread calls us, by a timer that counts while the machine
 * sleeps.  The timeout here is for when nobody polls, because a turn takes long in the
 * store.  sem_clockwait() has no clock that counts suspend: after one, such a wait may
 * end late, by the rest that was left of it. */
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

static void poll_once(struct hf_drive *drive, struct hf_sleeper *sleeper)
{
    assert(drive->poller == NULL || drive->poller == sleeper);
    assert(!drive->turning); /* else the thread that turns polls next */
    if (drive->poller != sleeper) {
        drive->poller = sleeper;
        drive->takeovers++;
        if (drive->has_keeper && !drive->parked)
            hf_drive_call_keeper(drive); /* to end its poll() */
    }
    hf_drive_poll(drive, drive->kick);
}

int hf_drive_wait(struct hf_drive *drive, bool (*settled)(void *arg), void *arg,
                  hf_time deadline)
{
    struct hf_sleeper sleeper = { .settled = settled, .arg = arg, .deadline = deadline };
    int               r = 0;

    /* The common case: our own turn settles it, and no other thread is involved. */
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
        if (drive->poller == &sleeper && drive->turning)
            drive->poller = NULL; /* the thread that turns calls a sleeper at its end */
        if (drive->turning || (drive->poller != NULL && drive->poller != &sleeper))
            sleep_until(drive, &sleeper, now);
        else
            poll_once(drive, &sleeper);
    }
    withdraw(drive, &sleeper);
    assert(drive->poller != &sleeper); /* it is about to go out of scope */
    return r;
}

void hf_drive_run_errands(struct hf_drive *drive)
{
    assert(drive->turning);
    while (drive->errands != NULL) {
        struct hf_errand *errand = drive->errands;
        drive->errands = errand->next;
        errand->run(errand->arg);
        errand->done = true;
    }
}

static bool is_done(void *arg)
{
    const struct hf_errand *errand = arg;

    return errand->done;
}

void hf_drive_run(struct hf_drive *drive, void (*run)(void *arg), void *arg)
{
    struct hf_errand errand = { .run = run, .arg = arg, .next = drive->errands };

    if (!drive->turning) {
        run(arg);
        return;
    }
    drive->errands = &errand;
    hf_drive_post(drive);
    (void)hf_drive_wait(drive, is_done, &errand, HF_NEVER);
    assert(errand.done);
}
