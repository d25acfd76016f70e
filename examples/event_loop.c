/* event_loop.c - a lock in your own event loop: no thread, nothing waits but poll().
 *
 *     cc -o event_loop event_loop.c $(pkg-config --cflags --libs holdfast)
 *     ./event_loop [STORE-URL]
 *
 * The loop has a timer beside the lock.  It prints
 *
 *     held
 *     tick
 *     tick
 *     tick
 *     idle
 */
#include <holdfast.h>
#include <poll.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int timer, result = 1; /* 1: not over yet */

/* Called from inside hf_process(). */
static void on_state(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    const struct itimerspec often = { { 0, 10000000 }, { 0, 10000000 } };

    (void)lock;
    (void)data;
    if (state == HF_HELD) {
        printf("held\n");
        result = timerfd_settime(timer, 0, &often, NULL) == 0 ? 1 : HF_ESTATE;
    } else if (state == HF_IDLE) { /* released, or never granted */
        printf("idle\n");
        result = why;
    } else if (state == HF_LOST) { /* stop: it is somebody else's now */
        result = HF_ELOST;
    }
}

static void turn(struct hf_client *client, struct hf_lock *lock)
{
    static int         ticks;
    struct pollfd      fds[] = { { .fd = hf_fd(client), .events = POLLIN },
                                 { .fd = timer, .events = POLLIN } };
    unsigned long long times;

    poll(fds, 2, hf_timeout_ms(client)); /* no longer than the client likes */
    if (fds[1].revents != 0 && read(timer, &times, sizeof times) > 0 && ticks < 3) {
        printf("tick\n");
        if (++ticks == 3)
            result = hf_release_start(lock) == 0 ? 1 : HF_ESTATE;
    }
    if (hf_process(client) != 0) /* does what there is to do, and never waits */
        result = HF_ESTATE;
}

int main(int argc, char **argv)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;
    struct hf_lock   *lock;

    options.flags = HF_NO_KEEPER; /* it is we who call hf_process() */
    options.on_state = on_state;
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int r = hf_open(argc > 1 ? argv[1] : NULL, &options, &client);
    if (r == 0)
        r = hf_mutex(client, "loop", &lock);
    if (r == 0)
        r = hf_acquire_start(lock, 30000);
    while (r == 0 && result == 1)
        turn(client, lock);
    r = r != 0 ? r : result;
    if (r != 0)
        fprintf(stderr, "event_loop: %s\n", hf_strerror(r));
    hf_close(client);
    return r != 0;
}
