/* hold.c - hold: take a lock and keep it, for a person or a script. */
#include "options.h"

#include "cli.h"
#include "clock.h"
#include "reach.h"
#include "session.h"
#include "status.h"
#include "take.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
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

int hold_main(const struct args *args)
{
    struct signals  signals;
    struct requests requests = { 0 };
    struct taking   taking = { .args = args,
                               .signals = &signals,
                               .owned = args->status_fd != 0 };

    int code = status_open(args);
    if (code != 0)
        return code;
    if (signals_init(&signals) < 0)
        return complain_errno("signalfd");
    const struct session_holder holder = { .to_owner = "holdfast hold",
                                           .to_all = "holdfast hold",
                                           .requests = &requests };
    code = session_open_to_hold(args, &holder, &taking.client);
    if (code == 0)
        code = hold(&taking, &requests);
    hf_lock_free(taking.lock);
    hf_close(taking.client);
    status_finish();
    if (taking.signal == SIGINT)
        signals_die(SIGINT);
    return code;
}
