/* keeper.c - the thread that turns the engine while nobody else does.
 *
 * It polls as long as no caller drives.  When one starts to, the keeper parks;
 * it comes back once nobody has driven for a moment, or, after it has parked
 * for long, when it is told.  It is also the one that calls callbacks.
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

static bool awaited(const struct hf_drive *drive)
{
    return drive->stop || drive->pending || (drive->posted && !drive->turning);
}

/* Wait until there is no driver, and none has come and gone for a moment. */
static void park(struct hf_drive *drive)
{
    unsigned long drives = drive->drives - 1;

    assert(!drive->parked && !drive->deep);
    drive->parked = true;
    while (!awaited(drive) && (drive->driver != NULL || drives != drive->drives)) {
        if (drives != drive->drives) {
            drives = drive->drives;
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
        if (drive->driver != NULL)
            park(drive);
        else if (!awaited(drive))
            hf_drive_poll(drive, drive->keeper_kick);
    }
    pthread_mutex_unlock(&drive->mutex);
    return NULL;
}

int hf_keeper_start(struct hf_drive *drive)
{
    sigset_t all, old;

    assert(!drive->has_keeper && !drive->stop);
    /* The program's signals are the program's. */
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
