/* candidate.c - see candidate.h. */
#include "lib/candidate.h"

#include <poll.h>

static void on_elected(struct hf_election *election, uint64_t token, void *data)
{
    struct candidate *me = data;

    (void)election;
    me->token = token;
    me->unpaired += me->elected++ != me->deposed;
}

static void on_deposed(struct hf_election *election, int why, void *data)
{
    struct candidate *me = data;

    (void)election;
    (void)why;
    me->unpaired += ++me->deposed != me->elected;
}

void candidate_join_in(struct candidate *me, struct hf_client *client, const char *name)
{
    struct hf_election_options options = HF_ELECTION_INIT;

    *me = (struct candidate){ .client = client };
    options.elected = on_elected;
    options.deposed = on_deposed;
    options.data = me;
    assert_int_equal(hf_election_new(client, name, &options, &me->election), 0);
}

void candidate_join(struct candidate *me, const char *name)
{
    candidate_join_in(me, recipe_open(), name);
}

void candidate_leave(struct candidate *me)
{
    hf_election_free(me->election);
    hf_close(me->client);
}

void recipe_await_count(atomic_int *counter, int value)
{
    int64_t end = recipe_ms() + 10000;

    while (*counter < value && recipe_ms() < end)
        poll(NULL, 0, 1);
    assert_int_equal(*counter, value);
}

void candidates_join(struct candidate *crowd, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        candidate_join(&crowd[i], name);
        recipe_await_line(crowd[i].client, name, i + 1);
    }
}
