/* scene.h - the scenarios that all who are compared play; see bench/README.md.
 *
 * A program says in a `struct way` how it takes a lock and gives it back, and calls
 * scene_main(): "SCENARIO SIZE" on stdin is answered by "SCENARIO OPERATIONS SECONDS LEAST".
 * Connections stay open from one to the next.  SIZE is in seconds, or what `special` takes
 * it for; LEAST are the turns of the one that had the fewest.  How long single ones took
 * goes to a file that is shared by all processes of one side; whoever started them reads it there.
 */
#ifndef BENCH_SCENE_H
#define BENCH_SCENE_H

#include <stdbool.h>
#include <stddef.h>

/* "S3:16@5": scenario 3, 16 of them, held for 5 ms; "S1+": a release is not awaited. */
struct scene {
    char   text[32];
    int    number;
    bool   eager;
    size_t count;
    double hold_us;
};

/* One who takes turns. */
struct seat {
    char   lock[32]; /* the lock's name */
    size_t session;  /* the same number: the same session */
    bool   readers;  /* most turns are a reader's */
    bool   eager;    /* does not wait for the answer to a release */
};

struct way {
    /* Without this one it does not take turns, but plays all by `special`. */
    void *(*join)(const struct seat *seat); /* keeps the session for the next scenario */
    void (*take)(void *me, bool write);
    void (*give)(void *me, bool write);
    void (*leave)(void *me);

    /* S4, S7, S8: returns how many operations, and sets the seconds if it knows better.
     * Without it they are played by threads that take() and wait, see throng.c. */
    unsigned long (*special)(const struct scene *scene, double size, double *seconds);

    bool apart; /* a session is of one thread alone, so that those of S2 have one each */
};

#define SCENE_SESSIONS 256 /* at most */

/* `file`: what is shared; or "first": take one lock, say "held MICROSECONDS" by the monotonic
 * clock, and end. */
int scene_main(const struct way *way, const char *file);

/* Of one operation. */
void scene_took(double us);

/* Says "mark", and returns at a line on stdin: whoever asked for the scenario counts what the
 * server does from one to the next. */
void scene_mark(void);

/* Of throng.c: S4, S7, S8 with a thread for each who waits. */
unsigned long throng_play(const struct way *way, const struct scene *scene, double size,
                          double *seconds);

#endif
