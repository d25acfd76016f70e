#include "bench/scene.h"

#include "bench/common.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define READ_PERCENT 90
#define TOOK         200000

/* bench/peer.py and bench/peers/turns.py know these offsets. */
struct shared {
    /* Not atomic, so that two holders at once would show. */
    volatile uint64_t count;
    volatile double   released; /* when the last release began */

    atomic_int       readers, writers; /* how many hold it */
    _Atomic uint64_t taken;            /* used entries of `took` */
    double           took[TOOK];       /* microseconds */
};

struct worker {
    pthread_t           thread;
    const struct way   *way;
    const struct scene *scene;
    struct seat         seat;
    void               *me;
    double              end;
    unsigned            seed;
    unsigned long       count;
};

static struct shared *shared;

void scene_took(double us)
{
    uint64_t at = atomic_fetch_add(&shared->taken, 1);

    if (at < TOOK)
        shared->took[at] = us;
}

void scene_mark(void)
{
    char line[16];

    puts("mark");
    fflush(stdout);
    must(fgets(line, sizeof line, stdin) != NULL, "reading");
}

/* ---- Turns ------------------------------------------------------------------------ */

/* Several share one lock. */
static bool is_contended(const struct scene *scene)
{
    return scene->number == 3 || scene->number == 5;
}

/* The lock protects this: a writer is alone, and no increment is lost. */
static void have_it(const struct worker *w, bool write, double since)
{
    double   now = now_us(), released = shared->released;
    uint64_t count = shared->count;

    if (write)
        must(atomic_fetch_add(&shared->writers, 1) == 0 &&
                 atomic_load(&shared->readers) == 0,
             "exclusion");
    else {
        atomic_fetch_add(&shared->readers, 1);
        must(atomic_load(&shared->writers) == 0, "exclusion of a writer");
    }
    if (w->scene->number == 3 && released > since)
        scene_took(now - released);
    pause_us((long)w->scene->hold_us);
    if (write) {
        shared->count = count + 1;
        atomic_fetch_sub(&shared->writers, 1);
        shared->released = now_us();
    } else {
        atomic_fetch_sub(&shared->readers, 1);
    }
}

static void take_turn(struct worker *w)
{
    bool   write = !w->seat.readers || rand_r(&w->seed) % 100 >= READ_PERCENT;
    double since = now_us();

    w->way->take(w->me, write);
    if (is_contended(w->scene))
        have_it(w, write, since);
    w->way->give(w->me, write);
    if (w->scene->number != 3)
        scene_took(now_us() - since);
}

static void *work(void *data)
{
    struct worker *w = data;

    do {
        take_turn(w);
        w->count++;
    } while (now_us() < w->end); /* at least one turn, however short the time */
    return NULL;
}

static void sit_down(struct worker *w, const struct way *way, const struct scene *scene,
                     size_t number)
{
    bool own = !is_contended(scene);

    w->way = way;
    w->scene = scene;
    w->seed = (unsigned)(number + 1) * (unsigned)getpid();
    w->seat.session = scene->number == 2 && !way->apart ? 0 : number;
    w->seat.readers = scene->number == 5;
    w->seat.eager = scene->eager;
    snprintf(w->seat.lock, sizeof w->seat.lock, own ? "S%d-%d-%zu" : "S%d", scene->number,
             (int)getpid(), number);
    w->me = way->join(&w->seat);
}

/* `seconds`: how long it should take; set to how long it took, without the joining. */
static unsigned long repeat(const struct way *way, const struct scene *scene,
                            double *seconds, unsigned long *least)
{
    struct worker *workers = calloc(scene->count, sizeof *workers);
    unsigned long  count = 0;

    must(workers != NULL, "calloc");
    for (size_t i = 0; i < scene->count; i++)
        sit_down(&workers[i], way, scene, i);
    double begin = now_us();
    for (size_t i = 0; i < scene->count; i++) {
        workers[i].end = begin + *seconds * 1e6;
        must(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0,
             "a thread");
    }
    for (size_t i = 0; i < scene->count; i++) {
        pthread_join(workers[i].thread, NULL);
        count += workers[i].count;
        *least = i == 0 || workers[i].count < *least ? workers[i].count : *least;
    }
    *seconds = (now_us() - begin) / 1e6;
    for (size_t i = 0; i < scene->count; i++)
        way->leave(workers[i].me);
    free(workers);
    return count;
}

/* ---- Requests ----------------------------------------------------------------------- */

static bool read_scene(struct scene *scene, const char *line, double *size)
{
    *scene = (struct scene){ .count = 1 };
    if (sscanf(line, "%31s %lf", scene->text, size) != 2 ||
        sscanf(scene->text, "S%d", &scene->number) != 1)
        return false;
    const char *colon = strchr(scene->text, ':'), *at = strchr(scene->text, '@');
    scene->eager = strchr(scene->text, '+') != NULL;
    if (colon != NULL)
        scene->count = strtoul(colon + 1, NULL, 10);
    if (at != NULL)
        scene->hold_us = strtod(at + 1, NULL) * 1000;
    return scene->count > 0;
}

static void play(const struct way *way, const struct scene *scene, double size)
{
    bool          turns = way->join != NULL && strchr("478", scene->text[1]) == NULL;
    double        start = now_us(), seconds = turns ? size : 0;
    unsigned long count, least = 0;

    count = turns                  ? repeat(way, scene, &seconds, &least)
            : way->special != NULL ? way->special(scene, size, &seconds)
                                   : throng_play(way, scene, size, &seconds);
    if (seconds == 0)
        seconds = (now_us() - start) / 1e6;
    printf("%s %lu %.6f %lu\n", scene->text, count, seconds, least);
    fflush(stdout);
}

static void share(const char *file)
{
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    must(fd >= 0 && ftruncate(fd, sizeof *shared) == 0, file);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(shared != MAP_FAILED, "mmap");
    close(fd);
}

static void take_first(const struct way *way)
{
    struct seat seat = { .lock = "S6" };
    void       *me = way->join(&seat);

    way->take(me, true);
    printf("held %.0f\n", now_us());
    fflush(stdout);
    way->give(me, true);
    way->leave(me);
}

int scene_main(const struct way *way, const char *file)
{
    char         line[64];
    struct scene scene;
    double       size;

    if (strcmp(file, "first") == 0) {
        take_first(way);
        return 0;
    }
    prctl(PR_SET_TIMERSLACK, 1000UL); /* so that a sleep of 1 ms takes 1 ms */
    share(file);
    while (fgets(line, sizeof line, stdin) != NULL) {
        must(read_scene(&scene, line, &size), line);
        play(way, &scene, size);
    }
    return 0;
}
