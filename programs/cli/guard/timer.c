/* timer.c - the times that the guardian has to keep; see guardian.h. */
#include "guard/guardian.h"

#include "clock.h"

#include <sys/timerfd.h>
#include <time.h>

int timer_open(struct timer *timer)
{
    *timer = (struct timer){
        .fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK),
        .deadline = INT64_MAX,
        .ask_at = INT64_MAX,
        .stop_at = INT64_MAX,
        .end_at = INT64_MAX,
        .tell_at = INT64_MAX,
    };
    return timer->fd < 0 ? -1 : 0;
}

void timer_set(struct timer *timer)
{
    int64_t           at = timer->deadline;
    struct itimerspec when = { 0 };

    at = timer->ask_at < at ? timer->ask_at : at;
    at = timer->stop_at < at ? timer->stop_at : at;
    at = timer->tell_at < at ? timer->tell_at : at;
    at = timer->end_at < at ? timer->end_at : at;
    if (at != INT64_MAX) {
        at = at < 1 ? 1 : at; /* zero would disarm it */
        when.it_value.tv_sec = at / NS_PER_SEC;
        when.it_value.tv_nsec = at % NS_PER_SEC;
    }
    timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* A short lease must not be all grace, nor one that is about to be renewed: the grace is
 * at most a quarter of what is left. */
void timer_set_deadline(struct timer *timer, int64_t deadline, int64_t grace_ns)
{
    if (deadline < 0)
        deadline = 0; /* no clock was ever there, and the difference might overflow */

    int64_t most = (deadline - clock_boot_ns()) / 4;
    timer->deadline = deadline;
    timer->ask_at = INT64_MAX;
    if (deadline != INT64_MAX)
        timer->ask_at = deadline - (grace_ns < most ? grace_ns : most);
    timer_set(timer);
}
