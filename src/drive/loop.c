/* loop.c - one turn of the engine, one round of polling; see drive.h. */
#include "drive/drive.h"

#include "base/fork.h"
#include "holdfast.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Reset an eventfd or timerfd: one read is enough. */
static void drain(int fd)
{
    uint64_t count;

    ssize_t n = read(fd, &count, sizeof count);
    (void)n;
}

static void write_one(int fd)
{
    uint64_t one = 1;

    /* If the counter is full, the descriptor is readable already. */
    ssize_t n = write(fd, &one, sizeof one);
    (void)n;
}

/* End the poll() of the polling thread, or of the caller's own loop. */
static void interrupt_poll(struct hf_drive *drive)
{
    if (!drive->kicked)
        write_one(drive->kick);
    drive->kicked = true;
}

static void reset_kick(struct hf_drive *drive)
{
    if (drive->kicked)
        drain(drive->kick);
    drive->kicked = false;
}

int hf_drive_init(struct hf_drive *drive, const struct hf_drive_ops *ops, void *owner,
                  int fd, bool keeper)
{
    pthread_condattr_t attr;

    assert(ops->collect && ops->turn && ops->publish && ops->deliver);
    *drive = (struct hf_drive){ .ops = ops, .owner = owner, .fd = fd };
    drive->epoll = -1;
    drive->wake = drive->armed = HF_NEVER;
    hf_low_take();
    drive->timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    drive->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    drive->keeper_kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    hf_low_give();
    bool made = drive->timer >= 0 && drive->kick >= 0 && drive->keeper_kick >= 0;
    int  r = made ? 0 : errno;

    pthread_mutex_init(&drive->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&drive->keeper_cond, &attr);
    pthread_condattr_destroy(&attr);

    if (r == 0 && keeper)
        r = hf_keeper_start(drive);
    if (r != 0)
        hf_drive_finish(drive);
    return r;
}

static void close_if(int fd)
{
    if (fd >= 0)
        close(fd);
}

void hf_drive_finish(struct hf_drive *drive)
{
    if (drive->has_keeper)
        hf_keeper_stop(drive);
    assert(drive->sleepers == NULL && drive->errands == NULL && !drive->turning);
    close_if(drive->timer);
    close_if(drive->kick);
    close_if(drive->keeper_kick);
    close_if(drive->epoll);
    pthread_cond_destroy(&drive->keeper_cond);
    pthread_mutex_destroy(&drive->mutex);
}

int hf_drive_begin(struct hf_drive *drive)
{
    int state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_mutex_lock(&drive->mutex);
    return state;
}

void hf_drive_end(struct hf_drive *drive, int cancel_state)
{
    pthread_mutex_unlock(&drive->mutex);
    pthread_setcancelstate(cancel_state, &cancel_state);
}

void hf_drive_post(struct hf_drive *drive)
{
    drive->posted = true;
}

void hf_drive_nudge(struct hf_drive *drive)
{
    if (drive->turning) /* the turn checks `posted` again at its end */
        return;
    if (drive->poller != NULL || !drive->has_keeper)
        interrupt_poll(drive);
    else
        hf_drive_call_keeper(drive);
}

/* A timer that fires too early is not set again: firing costs one wake-up, setting it a
 * system call each time. */
void hf_drive_arm(struct hf_drive *drive, hf_time when)
{
    if (when >= drive->armed)
        return;
    drive->armed = when;
    if (when < 1)
        when = 1; /* zero would disarm it */
    struct itimerspec spec = { .it_value = { .tv_sec = when / HF_SEC,
                                             .tv_nsec = when % HF_SEC } };
    timerfd_settime(drive->timer, TFD_TIMER_ABSTIME, &spec, NULL);
}

/* For the next turn and, once it has fired, for all sleepers. */
static void arm_again(struct hf_drive *drive)
{
    hf_time when = drive->wake;

    if (drive->armed == HF_NEVER)
        for (struct hf_sleeper *s = drive->sleepers; s != NULL; s = s->next)
            when = hf_sooner(when, s->deadline);
    hf_drive_arm(drive, when);
}

#define CALLED_MAX 64 /* at a time */

/* Sleepers that are settled or timed out and were not called yet, up to CALLED_MAX. */
static size_t take_settled(struct hf_drive *drive, struct hf_sleeper **ret)
{
    hf_time now = drive->sleepers != NULL ? hf_now() : 0;
    size_t  count = 0;

    for (struct hf_sleeper *s = drive->sleepers; s != NULL && count < CALLED_MAX;
         s = s->next) {
        if (s == drive->poller) {
            if (drive->polling && s->settled(s->arg))
                interrupt_poll(drive);
            continue;
        }
        if (s->called || (!s->settled(s->arg) && now < s->deadline))
            continue;
        s->called = true;
        ret[count++] = s;
    }
    return count;
}

/* A sleeper that is called waits for this sem_post(), so it exists until then, and no
 * longer. */
static void wake_called(struct hf_sleeper **called, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sem_post(&called[i]->sem);
}

void hf_drive_rouse(struct hf_drive *drive)
{
    struct hf_sleeper *called[CALLED_MAX];
    size_t             count;

    while ((count = take_settled(drive, called)) > 0)
        wake_called(called, count);
}

void hf_drive_call_first(struct hf_drive *drive)
{
    struct hf_sleeper *first = drive->sleepers;

    if (first == NULL || first->called)
        return;
    first->called = true;
    sem_post(&first->sem);
}

void hf_drive_announce(struct hf_drive *drive)
{
    if (drive->pending && drive->has_keeper)
        hf_drive_call_keeper(drive);
    else if (drive->pending)
        interrupt_poll(drive);
}

/* Without the mutex, which the sleepers need next. */
static void wake_settled(struct hf_drive *drive)
{
    struct hf_sleeper *called[CALLED_MAX];
    size_t             count;

    while ((count = take_settled(drive, called)) > 0) {
        pthread_mutex_unlock(&drive->mutex);
        wake_called(called, count);
        pthread_mutex_lock(&drive->mutex);
    }
}

/* Turn once more for operations that were posted while sleepers were woken?  Not if
 * another thread can do it: this one has its own work to do. */
static bool turns_again(const struct hf_drive *drive)
{
    bool other =
        drive->poller == NULL && drive->sleepers != NULL && !drive->sleepers->called;

    return drive->posted && !other;
}

static void turn(struct hf_drive *drive, bool readable)
{
    if (drive->turning)
        return;
    drive->turning = true;
    for (bool again = true; again;) {
        drive->posted = false;
        hf_drive_run_errands(drive);
        drive->ops->collect(drive->owner);
        pthread_mutex_unlock(&drive->mutex);
        drive->ops->turn(drive->owner, hf_now(), readable);
        pthread_mutex_lock(&drive->mutex);
        assert(drive->turning); /* no other thread did meanwhile */
        drive->wake = drive->ops->publish(drive->owner);
        readable = false;
        again = drive->posted;
        if (!again) {
            wake_settled(drive);
            again = turns_again(drive);
        }
    }
    drive->turning = false;

    arm_again(drive);
    assert(drive->armed <= drive->wake); /* too early is harmless, too late is not */
    /* Threads that found the engine being turned sleep; now one of them may poll. */
    if (drive->poller == NULL)
        hf_drive_call_first(drive);
    hf_drive_announce(drive);
}

void hf_drive_turn(struct hf_drive *drive, bool readable)
{
    turn(drive, readable || drive->watching == 0);
}

void hf_drive_turn_first(struct hf_drive *drive)
{
    bool relied_on = !drive->parked || hf_now() >= drive->wake;

    turn(drive, drive->watching == 0 && relied_on);
}

void hf_drive_poll(struct hf_drive *drive, int kick)
{
    struct pollfd fds[] = {
        { .fd = drive->fd, .events = POLLIN },
        { .fd = drive->timer, .events = POLLIN },
        { .fd = kick, .events = POLLIN },
    };

    bool poller = kick == drive->kick;

    assert(!poller || !drive->polling); /* only one thread has this role */
    if (poller)
        drive->polling = true;
    drive->watching++;
    pthread_mutex_unlock(&drive->mutex);
    poll(fds, 3, -1);
    if (!poller && fds[2].revents != 0)
        drain(kick);
    pthread_mutex_lock(&drive->mutex);
    assert(drive->watching > 0 && (!poller || drive->polling));
    drive->watching--;
    if (poller)
        drive->polling = false;
    if (poller && fds[2].revents != 0)
        reset_kick(drive);

    if (fds[1].revents != 0) {
        drain(drive->timer);
        drive->armed = HF_NEVER;
    }
    if (fds[0].revents != 0 || fds[1].revents != 0 || drive->posted)
        hf_drive_turn(drive, fds[0].revents != 0);
}

void hf_drive_deliver(struct hf_drive *drive)
{
    while (drive->pending) {
        drive->pending = false;
        pthread_mutex_unlock(&drive->mutex);
        drive->ops->deliver(drive->owner);
        pthread_mutex_lock(&drive->mutex);
    }
}

void hf_drive_send(struct hf_drive *drive)
{
    if (!drive->has_keeper || drive->turning) {
        hf_drive_nudge(drive);
        return;
    }
    hf_drive_turn(drive, false);
    if (drive->poller == NULL && drive->deep)
        hf_drive_call_keeper(drive);
}

void hf_drive_process(struct hf_drive *drive)
{
    reset_kick(drive);
    if (hf_now() >= drive->armed) {
        drain(drive->timer);
        drive->armed = HF_NEVER;
    }
    hf_drive_turn(drive, true);
    hf_drive_deliver(drive);
}

static int add_to_epoll(int epoll, int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int hf_drive_fd(struct hf_drive *drive)
{
    if (drive->epoll >= 0)
        return drive->epoll;

    hf_low_take();
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    hf_low_give();
    if (epoll < 0)
        return HF_ESTORE;
    if (add_to_epoll(epoll, drive->fd) < 0 || add_to_epoll(epoll, drive->timer) < 0 ||
        add_to_epoll(epoll, drive->kick) < 0) {
        close(epoll);
        return HF_ESTORE;
    }
    drive->epoll = epoll;
    return epoll;
}
