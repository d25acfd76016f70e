/* scene.h - runs the scenarios of bench/README.md with any kind of lock.
 *
 * A program describes in a `struct way` how it acquires and releases a lock, and calls
 * scene_main(), which answers "SCENARIO SIZE" on stdin with "SCENARIO OPERATIONS SECONDS LEAST".
 * Connections stay open from one scenario to the next.  SIZE is in seconds, or whatever `special`
 * takes it for; LEAST is the number of turns of the session that had the fewest.  The times of
 * single operations go to a file that all processes of one side share.
 */
#ifndef BENCH_SCENE_H
#define BENCH_SCENE_H

#include <stdbool.h>
#include <stddef.h>

/* "S3:16@5": scenario 3 with 16 sessions that hold for 5 ms; "S1+": without awaiting the release. */
struct scene {
    char   text[32];
    int    number;
    bool   eager;
    size_t count;
    double hold_us;
};

/* A client that takes turns. */
struct seat {
    char   lock[32]; /* the lock's name */
    size_t session;  /* equal numbers share a session */
    bool   readers;  /* 90 % of its turns are reads */
    bool   eager;    /* does not wait for the answer to a release */
};

struct way {
    /* NULL: `special` runs all scenarios. */
    void *(*join)(const struct seat *seat); /* keeps the session for the next scenario */
    void (*take)(void *me, bool write);
    void (*give)(void *me, bool write);
    void (*leave)(void *me);

    /* S4, S7, S8: returns the number of operations, and may set the seconds.  NULL: threads run
     * them that call take(), see throng.c. */
    unsigned long (*special)(const struct scene *scene, double size, double *seconds);

    bool apart; /* a session serves one thread, so each thread of S2 needs one */
};

#define SCENE_SESSIONS 256 /* at most */

/* `file`: the shared file; or "first": acquire one lock, print "held MICROSECONDS" of the monotonic
 * clock, and exit. */
int scene_main(const struct way *way, const char *file);

/* Record the time of one operation. */
void scene_took(double us);

/* Prints "mark", and returns after a line on stdin: the caller counts the server's work between
 * two marks. */
void scene_mark(void);

/* In throng.c: S4, S7 and S8 with a thread for each waiter. */
unsigned long throng_play(const struct way *way, const struct scene *scene, double size,
                          double *seconds);

#endif
