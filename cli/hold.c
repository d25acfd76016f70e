/* hold.c - hold: take a lock and keep it, for a person or a script. */
#include "options.h"

#include "cli.h"
#include "clock.h"
#include "reach.h"
#include "sentry.h"
#include "session.h"
#include "status.h"
#include "take.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* True at its end.  What comes in is of no interest. */
static bool stdin_ended(bool *watch)
{
    char    waste[4096];
    ssize_t n = read(STDIN_FILENO, waste, sizeof waste);

    if (n < 0 && errno == EIO)
        *watch = false; /* a terminal, and we are in the background */
    return n == 0 || (n < 0 && errno != EIO && errno != EINTR && errno != EAGAIN);
}

/* True: somebody asked, and we do as asked. */
static bool yields(const struct args *args, struct requests *requests)
{
    if (!requests_next(requests))
        return false;
    if (!args->quiet)
        requests_say(requests, args->operand[0], args->yield ? "; releasing it" : "");
    return args->yield;
}

/* Until stdin ends, a signal comes, the lock is lost, or it is yielded. */
static void keep_lock(const struct taking *taking, struct requests *requests)
{
    bool watch = true;

    while (hf_state(taking->lock) == HF_HELD) {
        struct pollfd on[] = {
            { .fd = hf_fd(taking->client), .events = POLLIN },
            { .fd = taking->signals->fd, .events = POLLIN },
            { .fd = watch ? STDIN_FILENO : -1, .events = POLLIN },
            status_poll(),
        };
        poll(on, 4, clock_sooner(hf_timeout_ms(taking->client), reach_timeout_ms()));
        hf_process(taking->client);
        will_hand_over(taking->will);
        if (hf_state(taking->lock) == HF_HELD)
            sentry_tell(taking->sentry, taking->lock);
        status_turn(taking->lock);
        if (hf_state(taking->lock) == HF_HELD)
            reach_show(taking->lock);
        if (on[2].revents != 0 && stdin_ended(&watch))
            return;
        if (signals_end(taking->signals) != 0 || yields(taking->args, requests))
            return;
    }
}

static int hold(struct taking *taking, struct requests *requests)
{
    const char *name = taking->args->operand[0];

    if (!take(taking))
        return taking->code;
    if (!taking->args->quiet)
        complain("holding \"%s\", token %" PRIu64, name, hf_token(taking->lock));
    keep_lock(taking, requests);

    if (hf_state(taking->lock) != HF_HELD)
        status_lost();
    int r = hf_release(taking->lock);
    status_released(r);
    if (r == HF_ELOST) {
        complain("\"%s\" was lost: others may have it", name);
        return EXIT_LOST;
    }
    return r < 0 ? session_failed(taking->client, r) : 0;
}

/* In a file the kernel tells who is dead. */
static bool needs_sentry(struct hf_client *client)
{
    int fd;

    return hf_lifeline(client, &fd, 1) <= 0;
}

static int open_and_hold(struct taking *taking, int sentry_error)
{
    bool                  watched = taking->sentry->guard.link >= 0;
    struct requests       requests = { 0 };
    struct session_holder holder = { .to_owner = "holdfast hold",
                                     .to_all = "holdfast hold",
                                     .requests = &requests,
                                     .will = watched ? taking->will : NULL };

    int code = session_open_to_hold(taking->args, &holder, &taking->client);
    if (code != 0)
        return code;
    if (!needs_sentry(taking->client))
        guard_finish(&taking->sentry->guard);
    else if (sentry_error != 0 && !taking->args->quiet)
        complain("no second process can be started (%s): if this one is killed, others "
                 "wait for the lease",
                 strerror(sentry_error));
    code = hold(taking, &requests);
    hf_lock_free(taking->lock);
    hf_close(taking->client);
    return code;
}

int hold_main(const struct args *args)
{
    struct signals signals;
    struct sentry  sentry;
    struct will    will = { .guard = &sentry.guard };
    struct taking  taking = { .args = args,
                              .signals = &signals,
                              .will = &will,
                              .sentry = &sentry,
                              .owned = args->status_fd != 0 };

    int code = status_open(args);
    if (code != 0)
        return code;
    if (signals_init(&signals) < 0)
        return complain_errno("signalfd");
    session_load(args);
    int sentry_error = sentry_start(&sentry) < 0 ? errno : 0;
    code = open_and_hold(&taking, sentry_error);
    guard_finish(&sentry.guard);
    will_forget(&will);
    status_finish();
    if (taking.signal == SIGINT)
        signals_die(SIGINT);
    return code;
}
