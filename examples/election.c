/* election.c - two candidates: when one steps down, the other leads.
 *
 *     cc -o election election.c $(pkg-config --cflags --libs holdfast)
 *     ./election [STORE-URL]
 *
 * Usually they are processes on different machines.  It prints
 *
 *     alice leads
 *     alice steps down
 *     bob leads
 */
#include <holdfast.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

struct candidate {
    const char         *name;
    struct hf_client   *client;
    struct hf_election *election;
    int                 news[2]; /* a pipe, from the callback to main() */
};

/* Callbacks come from a thread of the library, one at a time: be quick, and hand over. */
static void elected(struct hf_election *election, uint64_t token, void *data)
{
    struct candidate *me = data;

    (void)election;
    (void)token; /* goes with whatever the leader writes, to tell it from an older one */
    if (write(me->news[1], "e", 1) != 1)
        perror("election");
}

static int stand(struct candidate *me, const char *url)
{
    struct hf_election_options options = HF_ELECTION_INIT;
    int                        r = pipe(me->news) != 0 ? HF_ENOMEM : 0;

    options.note = me->name; /* what the others see */
    options.elected = elected;
    options.data = me;
    if (r == 0)
        r = hf_open(url, NULL, &me->client);
    return r != 0 ? r : hf_election_new(me->client, "leader", &options, &me->election);
}

static int await_election(struct candidate *me)
{
    struct pollfd news = { .fd = me->news[0], .events = POLLIN };
    char          byte;

    if (poll(&news, 1, 30000) != 1 || read(me->news[0], &byte, 1) != 1)
        return HF_ETIMEOUT;
    printf("%s leads\n", me->name);
    return hf_election_leads(me->election) ? 0 : HF_ELOST; /* ask before each step */
}

int main(int argc, char **argv)
{
    const char      *url = argc > 1 ? argv[1] : NULL;
    struct candidate alice = { .name = "alice" }, bob = { .name = "bob" };
    int              r = stand(&alice, url);

    if (r == 0)
        r = await_election(&alice);
    if (r == 0)
        r = stand(&bob, url);
    if (r == 0) {
        printf("alice steps down\n");
        r = hf_election_resign(alice.election);
    }
    if (r == 0)
        r = await_election(&bob);
    if (r != 0)
        fprintf(stderr, "election: %s\n", hf_strerror(r));
    hf_election_free(bob.election); /* before its client */
    hf_close(bob.client);
    hf_election_free(alice.election);
    hf_close(alice.client);
    return r != 0;
}
