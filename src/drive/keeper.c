/* keeper.c - the thread that turns the engine while nobody else does.
 *
 * It polls as long as no caller does.  When a caller becomes the polling thread, the
 * keeper parks.  It comes back when no caller has polled for a moment; if it has been
 * parked for longer, the last caller wakes it.  The keeper also runs the callbacks.
 */
#include "drive/drive.h"

#include "holdfast.h"

#include <assert.h>
#include <signal.h>
#include <sys/eventfd.h>

#define MOMENT (20 * HF_MS)

void hf_drive_call_keeper(struct hf_drive *drive)
{
    if (drive->parked)
        pthread_cond_signal(&drive->keeper_cond);
    else
        eventfd_write(drive->keeper_kick, 1);
}

static void doze(struct hf_drive *drive)
{
    struct timespec when;

    clock_gettime(CLOCK_MONOTONIC, &when);
    hf_time end = when.tv_sec * HF_SEC + when.tv_nsec + MOMENT;
    when.tv_sec = end / HF_SEC;
    when.tv_nsec = end % HF_SEC;
    pthread_cond_timedwait(&drive->keeper_cond, &drive->mutex, &when);
}

static bool is_needed(const struct hf_drive *drive)
{
    return drive->stop || drive->pending || (drive->posted && !drive->turning);
}

/* Wait until no caller polls, and none has started to for a moment. */
static void park(struct hf_drive *drive)
{
    unsigned long seen = drive->takeovers - 1;

    assert(!drive->parked && !drive->deep);
    drive->parked = true;
    while (!is_needed(drive) && (drive->poller != NULL || seen != drive->takeovers)) {
        if (seen != drive->takeovers) {
            seen = drive->takeovers;
            doze(drive);
        } else {
            drive->deep = true;
            pthread_cond_wait(&drive->keeper_cond, &drive->mutex);
            drive->deep = false;
        }
    }
    drive->parked = false;
}

static void *run_keeper(void *data)
{
    struct hf_drive *drive = data;

    pthread_mutex_lock(&drive->mutex);
    while (!drive->stop) {
        hf_drive_deliver(drive);
        if (drive->posted)
            hf_drive_turn(drive, false);
        if (drive->poller != NULL)
            park(drive);
        else if (!is_needed(drive))
            hf_drive_poll(drive, drive->keeper_kick);
    }
    pthread_mutex_unlock(&drive->mutex);
    return NULL;
}

int hf_keeper_start(struct hf_drive *drive)
{
    sigset_t all, old;

    assert(!drive->has_keeper && !drive->stop);
    /* Signals are for the program's own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = pthread_create(&drive->keeper, NULL, run_keeper, drive);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r != 0)
        return r;
    drive->has_keeper = true;
    pthread_setname_np(drive->keeper, "holdfast");
    return 0;
}

void hf_keeper_stop(struct hf_drive *drive)
{
    pthread_mutex_lock(&drive->mutex);
    drive->stop = true;
    hf_drive_call_keeper(drive);
    pthread_mutex_unlock(&drive->mutex);
    pthread_join(drive->keeper, NULL);
    drive->has_keeper = false;
}
