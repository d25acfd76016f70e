/* pipe.c - passes a byte round between sleeping threads: the least that a hand-over can take on this
 * machine.
 *
 *     pipe FILE
 *
 * Runs S3 only.
 */
#include "bench/common.h"
#include "bench/scene.h"

#include <pthread.h>
#include <unistd.h>

#define MOST 64

struct member {
    pthread_t      thread;
    struct member *next;
    int            ends[2]; /* of the pipe to it */
    unsigned long  count;
};

/* Only the thread with the byte uses these. */
static double given, end, hold_us;

/* Ends only when it has the byte, or the next threads would wait for ever. */
static void *take_turns(void *data)
{
    struct member *m = data;
    char           c;

    for (bool over = false; !over; m->count++) {
        must(read(m->ends[0], &c, 1) == 1, "read");
        scene_took(now_us() - given);
        pause_us((long)hold_us);
        given = now_us();
        over = given >= end;
        must(write(m->next->ends[1], &c, 1) == 1, "write");
    }
    return NULL;
}

static unsigned long play(const struct scene *scene, double size, double *seconds)
{
    struct member members[MOST] = { 0 };
    unsigned long count = 0;

    must(scene->count <= MOST, "so many");
    hold_us = scene->hold_us;
    for (size_t i = 0; i < scene->count; i++) {
        must(pipe(members[i].ends) == 0, "pipe");
        members[i].next = &members[(i + 1) % scene->count];
    }
    for (size_t i = 0; i < scene->count; i++)
        must(pthread_create(&members[i].thread, NULL, take_turns, &members[i]) == 0,
             "a thread");
    double begin = given = now_us();
    end = begin + size * 1e6;
    must(write(members[0].ends[1], "x", 1) == 1, "write");
    for (size_t i = 0; i < scene->count; i++)
        pthread_join(members[i].thread, NULL);
    *seconds = (given - begin) / 1e6;
    for (size_t i = 0; i < scene->count; i++) {
        close(members[i].ends[0]);
        close(members[i].ends[1]);
        count += members[i].count;
    }
    return count;
}

int main(int argc, char **argv)
{
    static const struct way by_pipe = { .special = play };

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    return scene_main(&by_pipe, argv[1]);
}
