/* surveyor.h - what a survey told last, for tests.
 *
 *     surveyor_start(&seen, client, prefix);    returns after the first look
 *     surveyor_await(&seen, name, 1, 0);        one holds it, nobody waits
 *     surveyor_stop(&seen);
 */
#ifndef HF_TEST_SURVEYOR_H
#define HF_TEST_SURVEYOR_H

#include "holdfast.h"

#include <pthread.h>

#define SURVEYOR_LINES 8

struct surveyor {
    struct hf_survey *survey;
    pthread_mutex_t   mutex;
    const char       *prefix; /* of the names that count */
    char              name[SURVEYOR_LINES][64];
    size_t            held[SURVEYOR_LINES], waiting[SURVEYOR_LINES];
    unsigned          told[SURVEYOR_LINES]; /* how often */
    size_t            count;
    unsigned          looks;
};

void surveyor_start(struct surveyor *seen, struct hf_client *client, const char *prefix);
void surveyor_stop(struct surveyor *seen);

/* Is that what was told last?  A line that was never told has nobody. */
bool surveyor_sees(struct surveyor *seen, const char *name, size_t held, size_t waiting);

/* Until it is, 20 s at most. */
void surveyor_await(struct surveyor *seen, const char *name, size_t held, size_t waiting);

#endif
