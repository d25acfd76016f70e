/* candidate.h - a candidate of an election, which counts its callbacks. */
#ifndef HF_TEST_CANDIDATE_H
#define HF_TEST_CANDIDATE_H

#include "lib/recipe.h"

#include <stdatomic.h>

struct candidate {
    struct hf_client   *client;
    struct hf_election *election;
    atomic_int          elected, deposed;
    atomic_int          unpaired; /* callbacks that do not alternate */
    _Atomic uint64_t    token;
};

/* Join the election, with a client of its own or with that one. */
void candidate_join(struct candidate *me, const char *name);
void candidate_join_in(struct candidate *me, struct hf_client *client, const char *name);

/* Join `count` of them, one behind the other. */
void candidates_join(struct candidate *crowd, size_t count, const char *name);

/* Free the election, and close the client. */
void candidate_leave(struct candidate *me);

/* Wait until a counter has reached `value`, 10 s at most; it must not pass it. */
void recipe_await_count(atomic_int *counter, int value);

#endif
