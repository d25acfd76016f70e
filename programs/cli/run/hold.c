/* hold.c - hold: take a lock and keep it, for a person or a script. */
#include "cli_options.h"

#include "clock.h"
#include "complain.h"
#include "guard/session_guardian.h"
#include "run/messages.h"
#include "run/status.h"
#include "run/take.h"
#include "session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

/* True at its end.  Input is thrown away. */
static bool stdin_ended(bool *watch)
{
    char    waste[4096];
    ssize_t n = read(STDIN_FILENO, waste, sizeof waste);

    if (n < 0 && errno == EIO)
        *watch = false; /* a terminal, and we are in the background */
    return n == 0 || (n < 0 && errno != EIO && errno != EINTR && errno != EAGAIN);
}

/* True: somebody asked for the lock, and we give it up. */
static bool yields(const struct args *args, struct requests *requests)
{
    if (!requests_next(requests))
        return false;
    if (!args->quiet)
        requests_say(requests, args->operand[0], args->yield ? "; releasing it" : "");
    return args->yield;
}

/* Until stdin ends, a signal comes, the lock is lost, or somebody asks and --yield is
 * given. */
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
        poll(on, 4,
             clock_sooner(hf_timeout_ms(taking->client), store_message_timeout_ms()));
        hf_process(taking->client);
        guard_key_send(taking->key);
        if (hf_state(taking->lock) == HF_HELD)
            session_guardian_tell(taking->guardian, taking->lock);
        status_turn(taking->lock);
        if (hf_state(taking->lock) == HF_HELD)
            store_message_show(taking->lock);
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
    return r < 0 ? complain_failure(taking->client, r) : 0;
}

/* In a file the kernel tells which processes are dead. */
static bool needs_guardian(struct hf_client *client)
{
    int fd;

    return hf_lifeline(client, &fd, 1) <= 0;
}

static int open_and_hold(struct taking *taking, int fork_error)
{
    bool                  watched = taking->guardian->guard.link >= 0;
    struct requests       requests = { 0 };
    struct session_holder holder = { .to_owner = "holdfast hold",
                                     .to_all = "holdfast hold",
                                     .requests = &requests,
                                     .key = watched ? taking->key : NULL };

    int code = session_open_to_hold(taking->args, &holder, &taking->client);
    if (code != 0)
        return code;
    if (!needs_guardian(taking->client))
        guard_finish(&taking->guardian->guard);
    else if (fork_error != 0 && !taking->args->quiet)
        complain(
            "cannot start the session guardian (%s): if this process is killed, others "
            "wait until the lease is over",
            strerror(fork_error));
    code = hold(taking, &requests);
    hf_lock_free(taking->lock);
    hf_close(taking->client);
    return code;
}

int hold_main(const struct args *args)
{
    struct signals          signals;
    struct session_guardian guardian;
    struct guard_key        key = { .guard = &guardian.guard };
    struct taking           taking = { .args = args,
                                       .signals = &signals,
                                       .key = &key,
                                       .guardian = &guardian,
                                       .owned = args->status_fd != 0 };

    int code = status_open(args);
    if (code != 0)
        return code;
    if (signals_init(&signals) < 0)
        return complain_errno("signalfd");
    session_load(args);
    int fork_error = session_guardian_start(&guardian) < 0 ? errno : 0;
    code = open_and_hold(&taking, fork_error);
    guard_finish(&guardian.guard);
    guard_key_forget(&key);
    status_finish();
    if (taking.signal == SIGINT)
        signals_die(SIGINT);
    return code;
}
