/* driver.c - a holder that is going to be killed, and a waiter; see bench/crash.py and
 * bench/death.py.
 *
 *     driver URL hold NAME [HOLDFAST]        prints "held" and holds until it is killed.  With the
 *                                            path of that program, it has a guardian
 *     driver URL wait NAME                   prints "waiting", then "granted MICROSECONDS"
 *
 * MICROSECONDS are of the monotonic clock.
 */
#include "bench/common.h"

#include <string.h>
#include <unistd.h>

static const char *url;

static struct hf_lock *lock_of(struct hf_client *client, const char *name)
{
    struct hf_lock *ret = NULL;

    must_hf(hf_mutex(client, name, &ret), "hf_mutex", client);
    return ret;
}

static void do_hold(const char *name, const char *holdfast)
{
    struct hf_options options = HF_OPTIONS_INIT;

    options.flags = holdfast != NULL ? HF_GUARDIAN : 0;
    options.guardian = holdfast;
    struct hf_client *client = open_with(url, options);
    struct hf_lock   *lock = lock_of(client, name);

    must_hf(hf_acquire(lock, PATIENCE_MS), "hf_acquire", client);
    puts("held");
    fflush(stdout);
    for (;;)
        pause();
}

static void do_wait(const char *name)
{
    struct hf_client *client = open_client(url, 0);
    struct hf_lock   *lock = lock_of(client, name);

    must_hf(hf_acquire_start(lock, -1), "hf_acquire_start", client);
    while (hf_ahead(lock) < 0)
        pause_us(1000);
    must(hf_ahead(lock) == 1, "waiting behind one");
    puts("waiting");
    fflush(stdout);
    while (hf_state(lock) == HF_WAITING)
        pause_us(200);
    printf("granted %.0f\n", now_us());
    fflush(stdout);
    must(hf_state(lock) == HF_HELD, "being granted");
    must_hf(hf_release(lock), "hf_release", client);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const char *what = argc > 3 ? argv[2] : "";

    url = argv[1];
    if (strcmp(what, "hold") == 0)
        do_hold(argv[3], argc > 4 ? argv[4] : NULL);
    else if (strcmp(what, "wait") == 0)
        do_wait(argv[3]);
    else {
        fprintf(stderr, "usage: %s URL hold|wait NAME ...\n", argv[0]);
        return 2;
    }
    return 0;
}
