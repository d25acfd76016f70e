#include "bench/crowd.h"

#include "bench/common.h"
#include "bench/scene.h"

#include <string.h>
#include <unistd.h>

#define LIMIT_US 60e6 /* to queue, and to drain */

struct crowd {
    struct hf_client *client[2];
    size_t            clients;
    size_t            mixed;  /* so many at the front alternate between both clients */
    struct hf_lock   *holder; /* keeps the lock until all have queued */
    struct hf_lock  **waiting;
    size_t            waiters;
    size_t            granted;  /* grants so far */
    size_t            done;     /* releases so far */
    bool              again;    /* a waiter queues again after its turn */
    bool              over;     /* ignore further callbacks */
    uint64_t          token;    /* of the last grant */
    double            released; /* when the last release began */
};

/* Checks first come first served, unless waiters queue again and may overtake each other. */
static void on_state(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct crowd *c = data;

    if (c->over || lock == c->holder)
        return;
    must_hf(why, "a waiter", NULL);
    if (state == HF_HELD) {
        must(c->again || lock == c->waiting[c->granted], "first come first served");
        must(hf_token(lock) > c->token, "ascending token");
        c->token = hf_token(lock);
        c->granted++;
        scene_took(now_us() - c->released);
        c->released = now_us();
        must_hf(hf_release_start(lock), "hf_release_start", NULL);
    } else if (state == HF_IDLE) {
        c->done++;
        if (c->again)
            must_hf(hf_acquire_start(lock, -1), "hf_acquire_start", NULL);
    }
}

/* One round; with `keyboard` it also returns for a line on stdin. */
static bool turn_both(struct crowd *c, bool keyboard)
{
    struct pollfd waits[3] = { { .fd = keyboard ? STDIN_FILENO : -1, .events = POLLIN } };
    int           limit = PATIENCE_MS;

    for (size_t i = 0; i < c->clients; i++) {
        int own = hf_timeout_ms(c->client[i]);
        waits[i + 1] = (struct pollfd){ .fd = hf_fd(c->client[i]), .events = POLLIN };
        limit = own >= 0 && own < limit ? own : limit;
    }
    poll(waits, 1 + c->clients, limit);
    for (size_t i = 0; i < c->clients; i++)
        must_hf(hf_process(c->client[i]), "hf_process", c->client[i]);
    return waits[0].revents != 0;
}

static struct hf_lock *queue_up(struct hf_client *client)
{
    struct hf_lock *lock = NULL;

    must_hf(hf_mutex(client, "crowd", &lock), "hf_mutex", client);
    must_hf(hf_acquire_start(lock, -1), "hf_acquire_start", client);
    return lock;
}

/* Queues all waiters in this order: before one session queues, the other must have its place. */
static void gather(struct crowd *c, const char *url)
{
    struct hf_options options = HF_OPTIONS_INIT;
    double            limit = now_us() + LIMIT_US;

    options.flags = HF_NO_KEEPER;
    options.on_state = on_state;
    options.data = c;
    for (size_t i = 0; i < c->clients; i++)
        c->client[i] = open_with(url, options);
    c->waiting = calloc(c->waiters, sizeof(struct hf_lock *));
    must(c->waiting != NULL, "calloc");
    c->holder = queue_up(c->client[0]);
    while (hf_state(c->holder) != HF_HELD)
        turn_both(c, false);
    for (size_t i = 0; i < c->waiters; i++) {
        bool mixed = i < c->mixed;
        c->waiting[i] = queue_up(c->client[mixed ? i % 2 : 0]);
        while (mixed && hf_ahead(c->waiting[i]) < 0)
            turn_both(c, false);
        must(now_us() < limit, "queueing in time");
    }
    for (size_t i = 0; i < c->waiters; i++)
        while (hf_ahead(c->waiting[i]) < 0) {
            turn_both(c, false);
            must(now_us() < limit, "queueing in time");
        }
}

/* Releases the lock and waits for so many grants; returns microseconds. */
static double pass_on(struct crowd *c, size_t hands)
{
    double start = now_us();

    c->released = start;
    must_hf(hf_release_start(c->holder), "hf_release_start", c->client[0]);
    while (c->granted < hands || (!c->again && c->done < hands)) {
        turn_both(c, false);
        must(now_us() < start + LIMIT_US, "handing on in time");
    }
    return now_us() - start;
}

/* Prints "mark", and goes on after a line on stdin. */
static void wait_at_mark(struct crowd *c)
{
    char line[16];

    puts("mark");
    fflush(stdout);
    while (!turn_both(c, true))
        ;
    must(fgets(line, sizeof line, stdin) != NULL, "reading");
}

static void disperse(struct crowd *c)
{
    c->over = true;
    for (size_t i = 0; i < c->clients; i++)
        hf_close(c->client[i]);
    free(c->waiting);
}

unsigned long crowd_drain(const char *url, size_t waiters)
{
    struct crowd c = { .clients = 1, .waiters = waiters };

    gather(&c, url);
    pass_on(&c, waiters);
    disperse(&c);
    return waiters;
}

unsigned long crowd_idle(const char *url, size_t waiters)
{
    struct crowd c = { .clients = 1, .waiters = waiters };

    gather(&c, url);
    wait_at_mark(&c);
    disperse(&c);
    return waiters;
}

unsigned long crowd_pass(const char *url, size_t waiters, size_t hands, double *seconds)
{
    struct crowd c = { .clients = 2, .waiters = waiters, .again = true };

    c.mixed = hands < waiters ? hands : waiters;
    gather(&c, url);
    wait_at_mark(&c);
    *seconds = pass_on(&c, hands) / 1e6;
    c.over = true;
    wait_at_mark(&c);
    disperse(&c);
    return hands;
}
