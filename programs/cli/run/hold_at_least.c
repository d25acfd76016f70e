/* hold_at_least.c - --hold-at-least; see supervise.h. */
#include "run/supervise.h"

#include "clock.h"
#include "complain.h"
#include "run/status.h"
#include "text.h"

#include <limits.h>
#include <poll.h>

/* How long the store may take to tell whether the lock was still ours when the command
 * ended. */
#define CHECK_MS 1000

static int ms_until(int64_t until)
{
    int64_t ms = (until - clock_boot_ns()) / NS_PER_MS + 1;

    return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}

static void say_linger(const struct supervisor *s)
{
    char    age[TEXT_AGE_MAX];
    int64_t left = s->hold_until - clock_boot_ns();

    if (!s->args->quiet) /* rounded up: not "for another 0s" */
        complain("the command has ended: keeping \"%s\" for another %s", hf_name(s->lock),
                 text_age(age, (left + NS_PER_SEC - 1) / (NS_PER_MS / 1000)));
}

static void keep_until_news(struct supervisor *s)
{
    struct pollfd on[] = {
        { .fd = hf_fd(s->client), .events = POLLIN },
        { .fd = s->signals->fd, .events = POLLIN },
        status_poll(),
    };

    int timeout = clock_sooner(hf_timeout_ms(s->client), store_message_timeout_ms());
    poll(on, 3, clock_sooner(timeout, ms_until(s->hold_until)));
    hf_process(s->client);
    guard_key_send(s->key);
    status_turn(s->lock);
    store_message_show(s->lock);
    if (requests_next(s->requests) && !s->args->quiet)
        requests_say(s->requests, hf_name(s->lock), "");
}

struct lingered linger(struct supervisor *s)
{
    struct lingered lingered = { .outlived = hf_check(s->lock, CHECK_MS) == 0 };

    if (hf_state(s->lock) == HF_HELD)
        say_linger(s);
    while (hf_state(s->lock) == HF_HELD && lingered.signal == 0 &&
           clock_boot_ns() < s->hold_until) {
        keep_until_news(s);
        lingered.signal = signals_end(s->signals);
    }
    return lingered;
}
