/* take.c - see take.h. */
#include "take.h"

#include "cli.h"
#include "clock.h"
#include "held.h"
#include "nested.h"
#include "notice.h"
#include "reach.h"
#include "refuse.h"
#include "session.h"
#include "status.h"

#include <poll.h>
#include <unistd.h>

/* How long a store may take to let us go, before we just leave. */
#define LEAVE_NS (1 * NS_PER_SEC)

/* A wait that is no longer than this is told of only at its end. */
#define REACH_MS 3000

/* How often to look whether a run around us is in our way. */
#define LOOK_MS 50

static int make_lock(const struct args *args, struct hf_client *client,
                     struct hf_lock **ret)
{
    const char *name = args->operand[0];

    if (args->shared)
        return hf_reader(client, name, ret);
    if (args->exclusive)
        return hf_writer(client, name, ret);
    if (args->slots > 0)
        return hf_semaphore(client, name, args->slots, args->weight ? args->weight : 1,
                            ret);
    if (args->claim)
        return hf_claim(client, name, ret);
    return hf_mutex(client, name, ret);
}

static void drive(struct taking *taking, int timeout_ms)
{
    bool          owned = taking->owned && !taking->disowned;
    struct pollfd on[] = {
        { .fd = hf_fd(taking->client), .events = POLLIN },
        { .fd = taking->signals->fd, .events = POLLIN },
        status_poll(),
        { .fd = owned ? STDIN_FILENO : -1, .events = POLLRDHUP }, /* and POLLHUP */
    };

    poll(on, 4, clock_sooner(hf_timeout_ms(taking->client), timeout_ms));
    hf_process(taking->client);
    will_hand_over(taking->will);
    status_turn(NULL);
    taking->disowned = taking->disowned || (on[3].revents & (POLLRDHUP | POLLHUP)) != 0;
}

/* Give the place up, or the lock if it was granted just now. */
static void leave_line(struct taking *taking)
{
    int64_t until = clock_boot_ns() + LEAVE_NS;

    hf_cancel(taking->lock);
    if (hf_state(taking->lock) == HF_HELD || hf_state(taking->lock) == HF_LOST)
        hf_release_start(taking->lock);
    while (hf_state(taking->lock) != HF_IDLE && clock_boot_ns() < until)
        drive(taking, 10);
}

/* A process that is stopped must not be granted a lock: it would hold it and do nothing.
 * So it is in no line meanwhile. */
static void pause_wait(struct taking *taking, struct notice *notice)
{
    notice_clear(notice);
    if (!taking->args->quiet)
        complain("leaving the line of \"%s\" while stopped", taking->args->operand[0]);
    leave_line(taking);
    signals_stop_self(SIGTSTP);
    notice_init(notice, taking->client, taking->args->operand[0], taking->args->quiet);
}

/* What is left of -w. */
static int64_t time_left_ms(const struct taking *taking)
{
    int64_t left = (taking->give_up_at - clock_boot_ns()) / NS_PER_MS;

    return taking->args->wait_ms <= 0 ? taking->args->wait_ms : left > 0 ? left : 0;
}

/* HF_EDEADLOCK, after having said so: we would wait for ourselves.  *unsure: it is not
 * known yet. */
static int look_around(const struct taking *taking, bool *unsure)
{
    const struct args *args = taking->args;
    const char        *name = args->operand[0];
    bool               all = args->shared || args->exclusive;
    uint32_t           capacity = all ? UINT32_MAX : args->slots > 0 ? args->slots : 1;
    uint32_t weight = args->exclusive ? UINT32_MAX : args->weight > 0 ? args->weight : 1;
    struct hf_report *report;

    if (!*unsure || hf_inspect(taking->client, name, 500, &report) < 0)
        return 0;
    enum nested nested = nested_judge(report, name, weight, capacity);
    hf_report_free(report);
    *unsure = nested == NESTED_UNSURE;
    if (nested == NESTED_STUCK)
        refuse_because(
            HF_EDEADLOCK,
            "\"%s\" is held by a `holdfast run` around this one, which would wait for "
            "itself; use another name, or -n",
            name);
    else if (nested == NESTED_BEHIND)
        refuse_because(
            HF_EDEADLOCK,
            "\"%s\" is held by a `holdfast run` around this one, and who waits ahead "
            "waits for that: this one would wait for itself; use another name, or -n",
            name);
    else
        return 0;
    return HF_EDEADLOCK;
}

enum next_step { GO_ON, START_AGAIN, END };

static enum next_step look_at_signals(struct taking *taking, struct notice *notice)
{
    enum next_step next = GO_ON;
    int            signal;

    while ((signal = signals_next(taking->signals)) != 0) {
        if (signals_ends(signal)) {
            taking->signal = signal;
            return END;
        }
        if (signal == SIGTSTP) {
            pause_wait(taking, notice);
            next = START_AGAIN;
        }
    }
    return taking->disowned ? END : next;
}

/* An extra line about a store that is away, unless that is told soon anyway, or is part
 * of the line that tells what we wait for. */
static bool says_reach(const struct taking *taking, const struct notice *notice)
{
    int64_t wait_ms = taking->args->wait_ms;

    return !notice->terminal && (wait_ms < 0 || wait_ms >= REACH_MS);
}

/* What is to be said while there is no answer. */
static void show_place(const struct taking *taking, struct notice *notice)
{
    if (says_reach(taking, notice))
        reach_show(NULL);
    notice_show(notice);
}

static int show_timeout_ms(const struct taking *taking, const struct notice *notice)
{
    return clock_sooner(notice_timeout_ms(notice),
                        says_reach(taking, notice) ? reach_timeout_ms() : -1);
}

/* Wait until the store knows that the last wish has ended, which takes a moment unless it
 * is away.  *result: HF_EDOWN if it takes longer than -w. */
static enum next_step await_idle(struct taking *taking, struct notice *notice,
                                 int *result)
{
    enum next_step next;

    *result = 0;
    while (hf_state(taking->lock) != HF_IDLE) {
        drive(taking, clock_sooner(show_timeout_ms(taking, notice), LOOK_MS));
        if ((next = look_at_signals(taking, notice)) != GO_ON)
            return next;
        if (time_left_ms(taking) == 0 && reach_why() != NULL) {
            *result = HF_EDOWN;
            break;
        }
        show_place(taking, notice);
    }
    return GO_ON;
}

/* One wish, to its end: held (0), refused (HF_E...), or ended by a signal. */
static enum next_step wish(struct taking *taking, struct notice *notice, int *result)
{
    const struct args *args = taking->args;
    struct hf_lock    *lock = taking->lock;
    bool               unsure = args->wait_ms != 0 && held_name(args->operand[0]);
    enum next_step     next;

    if ((next = await_idle(taking, notice, result)) != GO_ON || *result != 0)
        return next;
    status_waiting();
    *result = hf_acquire_start(lock, time_left_ms(taking));
    while (*result == 0 && hf_state(lock) == HF_WAITING) {
        drive(taking,
              clock_sooner(show_timeout_ms(taking, notice), unsure ? LOOK_MS : -1));
        if ((next = look_at_signals(taking, notice)) != GO_ON)
            return next;
        if (hf_state(lock) == HF_WAITING)
            *result = look_around(taking, &unsure);
        if (*result != 0 || hf_state(lock) != HF_WAITING)
            break;
        show_place(taking, notice);
    }
    if (*result == 0 && hf_state(lock) != HF_HELD)
        *result = hf_why(lock) != 0 ? hf_why(lock) : HF_ESTATE;
    return GO_ON;
}

/* A server that cannot be told that we gave up is not waited for: the session ends with
 * us. */
bool take(struct taking *taking)
{
    const struct args *args = taking->args;
    struct notice      notice;

    int r = make_lock(args, taking->client, &taking->lock);
    if (r < 0) {
        taking->code = refuse(taking, r);
        return false;
    }
    hf_set_follow(taking->lock, status_fd() != 0);
    hf_set_max_waiters(taking->lock, args->max_waiters);
    notice_init(&notice, taking->client, args->operand[0], args->quiet);
    taking->give_up_at = notice.begin + args->wait_ms * NS_PER_MS;

    while (wish(taking, &notice, &r) == START_AGAIN)
        ;
    notice_clear(&notice);
    if (taking->signal != 0) {
        leave_line(taking);
        status_failed(HF_ECANCELED, "a signal ended the wait");
        taking->code = 128 + taking->signal;
    } else if (taking->disowned) {
        leave_line(taking);
        status_failed(HF_ECANCELED, "stdin was closed while waiting");
        taking->code = args->busy_exit;
    } else if (r == HF_EDEADLOCK) {
        leave_line(taking);
        taking->code = EXIT_USAGE;
    } else if (r < 0) {
        taking->code = refuse(taking, r);
    } else {
        sentry_tell(taking->sentry, taking->lock);
        notice_waited(&notice);
        status_held(taking->lock);
    }
    return r == 0 && taking->signal == 0 && !taking->disowned;
}
