/* candidate.h - somebody who takes part in an election, and counts what he hears. */
#ifndef HF_TEST_CANDIDATE_H
#define HF_TEST_CANDIDATE_H

#include "lib/recipe.h"

#include <stdatomic.h>

struct candidate {
    struct hf_client   *client;
    struct hf_election *election;
    atomic_int          elected, deposed;
    atomic_int          unpaired; /* callbacks that came out of turn */
    _Atomic uint64_t    token;
};

/* Take part, in a client of one's own or in that one. */
void candidate_stand(struct candidate *me, const char *name);
void candidate_stand_in(struct candidate *me, struct hf_client *client, const char *name);

/* The same for `count` of them, one behind the other. */
void candidates_stand(struct candidate *crowd, size_t count, const char *name);

/* Leave, and close the client. */
void candidate_withdraw(struct candidate *me);

/* Wait until a counter has reached `value`, 10 s at most; it must not pass it. */
void recipe_await_count(atomic_int *counter, int value);

#endif
