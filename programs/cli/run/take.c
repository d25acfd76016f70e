/* take.c - see take.h. */
#include "run/take.h"

#include "clock.h"
#include "complain.h"
#include "run/also_flock.h"
#include "run/messages.h"
#include "run/nested.h"
#include "run/status.h"
#include "session.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

/* How long the store may take to answer that our place is gone, before we just exit. */
#define LEAVE_NS (1 * NS_PER_SEC)

/* If -w is shorter than this, there is no message before it is over. */
#define SHORT_WAIT_MS 3000

/* When to tell that the file of --also-flock is locked. */
#define FILE_TELL_MS 400

/* How often to check whether a run around us is in our way. */
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
    bool          owned = taking->owned && !taking->stdin_closed;
    struct pollfd on[] = {
        { .fd = hf_fd(taking->client), .events = POLLIN },
        { .fd = taking->signals->fd, .events = POLLIN },
        status_poll(),
        also_flock_poll(),
        { .fd = owned ? STDIN_FILENO : -1, .events = POLLRDHUP }, /* and POLLHUP */
    };

    poll(on, 5, clock_sooner(hf_timeout_ms(taking->client), timeout_ms));
    hf_process(taking->client);
    guard_key_send(taking->key);
    status_turn(NULL);
    taking->stdin_closed =
        taking->stdin_closed || (on[4].revents & (POLLRDHUP | POLLHUP)) != 0;
}

/* Give the place up, or the lock if it was granted just now. */
static void leave_line(struct taking *taking)
{
    int64_t until = clock_boot_ns() + LEAVE_NS;

    also_flock_release();
    hf_cancel(taking->lock);
    if (hf_state(taking->lock) == HF_HELD || hf_state(taking->lock) == HF_LOST)
        hf_release_start(taking->lock);
    while (hf_state(taking->lock) != HF_IDLE && clock_boot_ns() < until)
        drive(taking, 10);
}

/* A stopped process must not be granted a lock: it would hold it and do nothing.  So it
 * leaves the queue meanwhile. */
static void pause_wait(struct taking *taking, struct wait_message *message)
{
    wait_message_clear(message);
    if (!taking->args->quiet)
        complain("leaving the queue of \"%s\" while stopped", taking->args->operand[0]);
    leave_line(taking);
    signals_stop_self(SIGTSTP);
    wait_message_init(message, taking->client, taking->args->operand[0],
                      taking->args->quiet);
}

/* The time that is left of -w. */
static int64_t time_left_ms(const struct taking *taking)
{
    int64_t left = (taking->give_up_at - clock_boot_ns()) / NS_PER_MS;

    return taking->args->wait_ms <= 0 ? taking->args->wait_ms : left > 0 ? left : 0;
}

/* HF_EDEADLOCK, after having complained: we would wait for ourselves.  *unsure: that is
 * not known yet. */
static int check_nested(const struct taking *taking, bool *unsure)
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
        take_failed_because(
            HF_EDEADLOCK,
            "\"%s\" is held by the `holdfast run` around this one, so the wait would "
            "never end; use another name, or -n",
            name);
    else if (nested == NESTED_BEHIND)
        take_failed_because(
            HF_EDEADLOCK,
            "\"%s\" is held by the `holdfast run` around this one, and a waiter ahead "
            "waits for that, so the wait would never end; use another name, or -n",
            name);
    else
        return 0;
    return HF_EDEADLOCK;
}

enum next_step { GO_ON, START_AGAIN, END };

static enum next_step look_at_signals(struct taking *taking, struct wait_message *message)
{
    enum next_step next = GO_ON;
    int            signal;

    while ((signal = signals_next(taking->signals)) != 0) {
        if (signals_ends(signal)) {
            taking->signal = signal;
            return END;
        }
        if (signal == SIGTSTP) {
            pause_wait(taking, message);
            next = START_AGAIN;
        }
    }
    return taking->stdin_closed ? END : next;
}

/* A separate message that the store cannot be reached, unless -w is short or the
 * terminal's line says so. */
static bool shows_store_message(const struct taking       *taking,
                                const struct wait_message *message)
{
    int64_t wait_ms = taking->args->wait_ms;

    return !message->terminal && (wait_ms < 0 || wait_ms >= SHORT_WAIT_MS);
}

/* Tell the user what we wait for. */
static void show_place(const struct taking *taking, struct wait_message *message)
{
    if (shows_store_message(taking, message))
        store_message_show(NULL);
    wait_message_show(message);
}

static int show_timeout_ms(const struct taking       *taking,
                           const struct wait_message *message)
{
    return clock_sooner(wait_message_timeout_ms(message),
                        shows_store_message(taking, message) ? store_message_timeout_ms()
                                                             : -1);
}

/* Wait until the store knows that the last attempt has ended: a moment, unless it cannot
 * be reached.  *result: HF_EDOWN if it takes longer than -w. */
static enum next_step await_idle(struct taking *taking, struct wait_message *message,
                                 int *result)
{
    enum next_step next;

    *result = 0;
    while (hf_state(taking->lock) != HF_IDLE) {
        drive(taking, clock_sooner(show_timeout_ms(taking, message), LOOK_MS));
        if ((next = look_at_signals(taking, message)) != GO_ON)
            return next;
        if (time_left_ms(taking) == 0 && store_message_why() != NULL) {
            *result = HF_EDOWN;
            break;
        }
        show_place(taking, message);
    }
    return GO_ON;
}

/* The lock is ours: take that of the file, too, in what is left of -w.  Otherwise the lock
 * is given up again. */
static enum next_step await_file(struct taking *taking, struct wait_message *message,
                                 int *result)
{
    int64_t        tell_at = clock_boot_ns() + FILE_TELL_MS * NS_PER_MS;
    bool           tell = !taking->args->quiet;
    enum next_step next;

    wait_message_clear(message);
    while ((*result = also_flock_take(time_left_ms(taking) != 0)) == HF_EBUSY) {
        int64_t left = time_left_ms(taking);
        if (left == 0)
            break;
        drive(taking, clock_sooner(tell ? FILE_TELL_MS : -1,
                                   left > INT_MAX ? INT_MAX : (int)left));
        if ((next = look_at_signals(taking, message)) != GO_ON)
            return next;
        if (hf_state(taking->lock) != HF_HELD) {
            *result = HF_ELOST;
            break;
        }
        if (tell && clock_boot_ns() >= tell_at) {
            complain("waiting for flock on %s: another program has it, see lslocks(8)",
                     taking->args->also_flock);
            tell = false;
        }
    }
    if (*result < 0) {
        taking->file_busy = true;
        taking->code = take_failed(taking, *result);
        leave_line(taking);
    }
    return GO_ON;
}

/* One attempt, to its end: held (0), refused (HF_E...), or ended by a signal. */
static enum next_step attempt(struct taking *taking, struct wait_message *message,
                              int *result)
{
    const struct args *args = taking->args;
    struct hf_lock    *lock = taking->lock;
    bool               unsure = args->wait_ms != 0 && held_name(args->operand[0]);
    enum next_step     next;

    if ((next = await_idle(taking, message, result)) != GO_ON || *result != 0)
        return next;
    status_waiting();
    *result = hf_acquire_start(lock, time_left_ms(taking));
    while (*result == 0 && hf_state(lock) == HF_WAITING) {
        drive(taking,
              clock_sooner(show_timeout_ms(taking, message), unsure ? LOOK_MS : -1));
        if ((next = look_at_signals(taking, message)) != GO_ON)
            return next;
        if (hf_state(lock) == HF_WAITING)
            *result = check_nested(taking, &unsure);
        if (*result != 0 || hf_state(lock) != HF_WAITING)
            break;
        show_place(taking, message);
    }
    if (*result == 0 && hf_state(lock) != HF_HELD)
        *result = hf_why(lock) != 0 ? hf_why(lock) : HF_ESTATE;
    return *result == 0 && args->also_flock != NULL ? await_file(taking, message, result)
                                                    : GO_ON;
}

/* If the server cannot be told that we gave up, we do not wait for it: the session ends
 * with this process. */
bool take(struct taking *taking)
{
    const struct args  *args = taking->args;
    struct wait_message message;

    int r = make_lock(args, taking->client, &taking->lock);
    if (r < 0) {
        taking->code = take_failed(taking, r);
        return false;
    }
    hf_set_follow(taking->lock, status_fd() != 0);
    hf_set_max_waiters(taking->lock, args->max_waiters);
    wait_message_init(&message, taking->client, args->operand[0], args->quiet);
    taking->give_up_at = message.begin + args->wait_ms * NS_PER_MS;

    while (attempt(taking, &message, &r) == START_AGAIN)
        ;
    wait_message_clear(&message);
    if (taking->signal != 0) {
        leave_line(taking);
        status_failed(HF_ECANCELED, "a signal ended the wait");
        taking->code = 128 + taking->signal;
    } else if (taking->stdin_closed) {
        leave_line(taking);
        status_failed(HF_ECANCELED, "stdin was closed while waiting");
        taking->code = args->busy_exit;
    } else if (r == HF_EDEADLOCK) {
        leave_line(taking);
        taking->code = EXIT_USAGE;
    } else if (r < 0 && !taking->file_busy) {
        taking->code = take_failed(taking, r);
    } else if (r == 0) {
        session_guardian_tell(taking->guardian, taking->lock);
        wait_message_waited(&message);
        status_held(taking->lock);
    }
    return r == 0 && taking->signal == 0 && !taking->stdin_closed;
}
