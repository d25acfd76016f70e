/* throng.c - many threads of one process wait for one lock, for locks whose acquire blocks.
 * (Holdfast uses crowd.c.)
 */
#include "bench/common.h"
#include "bench/scene.h"

#include <pthread.h>
#include <stdatomic.h>

#define SETTLE_US  500000 /* after the last call, until it certainly waits */
#define STACK_SIZE ((size_t)256 * 1024)

struct throng {
    const struct way *way;
    atomic_size_t     asked; /* how many have called take() */
    unsigned long     hands; /* how many hand-overs, if waiters queue again; else 0 */

    atomic_int holders;

    /* The lock protects these. */
    unsigned long count;    /* hand-overs to a waiter so far */
    double        released; /* when the last release began */
    double        ended;    /* when `hands` was reached */
};

struct waiter {
    struct throng *throng;
    pthread_t      thread;
    void          *me;
};

static void have_it(struct throng *t, double since)
{
    double now = now_us();

    must(atomic_fetch_add(&t->holders, 1) == 0, "exclusion");
    if (t->released > since && t->ended == 0) {
        scene_took(now - t->released);
        t->count++;
        if (t->count == t->hands)
            t->ended = now;
    }
    atomic_fetch_sub(&t->holders, 1);
    t->released = now_us();
}

static void *wait_for_it(void *data)
{
    struct waiter *w = data;
    struct throng *t = w->throng;
    bool           over;

    do {
        double since = now_us();
        atomic_fetch_add(&t->asked, 1);
        t->way->take(w->me, true);
        have_it(t, since);
        over = t->hands == 0 || t->ended != 0;
        t->way->give(w->me, true);
    } while (!over);
    return NULL;
}

static void start(struct waiter *waiters, size_t count, struct throng *t)
{
    pthread_attr_t attr;

    must(pthread_attr_init(&attr) == 0 &&
             pthread_attr_setstacksize(&attr, STACK_SIZE) == 0,
         "a small stack");
    for (size_t i = 0; i < count; i++) {
        waiters[i].throng = t;
        must(pthread_create(&waiters[i].thread, &attr, wait_for_it, &waiters[i]) == 0,
             "a thread");
    }
    pthread_attr_destroy(&attr);
    while (atomic_load(&t->asked) < count)
        pause_us(100);
}

/* In S8 each hand-over is from one session to the other, if a session can have so many waiters. */
static void *join(const struct way *way, const struct scene *scene, size_t number)
{
    struct seat seat = { .lock = "throng" };

    seat.session = way->apart ? number : scene->number == 8 ? number % 2 : 0;
    return way->join(&seat);
}

unsigned long throng_play(const struct way *way, const struct scene *scene, double size,
                          double *seconds)
{
    struct throng  t = { .way = way, .hands = scene->number == 8 ? (size_t)size : 0 };
    struct waiter *waiters = calloc(scene->count + 1, sizeof *waiters);

    must(waiters != NULL, "calloc");
    for (size_t i = 0; i <= scene->count; i++)
        waiters[i].me = join(way, scene, i);
    struct waiter *first = &waiters[scene->count];
    double         begun = now_us();
    way->take(first->me, true);
    start(waiters, scene->count, &t);
    if (scene->number != 4) {
        pause_us(SETTLE_US);
        scene_mark();
    }
    if (scene->number == 8)
        begun = now_us();
    t.released = now_us();
    way->give(first->me, true);
    for (size_t i = 0; i < scene->count; i++)
        pthread_join(waiters[i].thread, NULL);
    *seconds = ((t.ended != 0 ? t.ended : now_us()) - begun) / 1e6;
    if (scene->number == 8)
        scene_mark();
    for (size_t i = 0; i <= scene->count; i++)
        way->leave(waiters[i].me);
    free(waiters);
    return t.hands != 0 ? t.hands : scene->count;
}
