/* scene.h - an acquire and a release, alone and with a hand-over, that can be played again and
 * again while the way to the server fails.
 *
 * Whatever is lost or done twice: one place while the lock is held, none after its release,
 * release says 0, and the next gets in.
 */
#ifndef HF_TEST_SCENE_H
#define HF_TEST_SCENE_H

#include "lib/witness.h"

struct scene {
    struct actor a, b; /* the client that suffers, and another */
    char         name[32];
    int          limit_ms; /* for the other to get in when the lock is free */
    uint64_t     token;    /* the last */
};

typedef void scene_play(struct scene *scene);

/* `a` is open; the lock is its own. */
void scene_have_and_leave(struct scene *scene);

scene_play scene_alone;       /* acquire and release */
scene_play scene_handed_over; /* the other one has it; the client queues, and gets it */

void scene_close(struct scene *scene);

#endif
