/* lease_sim.c - ZooKeeper's quorum rule in random worlds: the deadline must come before
 * the session ends.
 *
 * A client talks to a follower, and the follower to a leader.  At some moment, often the
 * worst, messages between those two are lost, in one direction or both; or the other
 * servers elect a new leader, and the old one commits nothing any more.  The leader
 * expires the session after T without news of it, as real ones do: it asks its followers
 * every half tick which sessions they have heard from, and rounds up to whole ticks; a
 * new leader counts T from its beginning.  The follower goes on answering reads by
 * itself, which misleads simpler rules.  The same worlds show that those are wrong, so
 * the test is able to fail.
 *
 * The client writes and reconnects when core/lease says so.  In some worlds it also
 * reconnects for no reason, and gets a different T.  The client always learns of a
 * shorter T: if the connection broke after the leader has it and before the client does,
 * no rule could help.
 *
 * HF_SIM_SCHEDULES: how many worlds.  A failure prints its seed.
 */
/* one thread */
#include "unit/lib/quorum_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- The client ---------------------------------------------------------------- */

static hf_time client_clock(const struct world *world, hf_time now)
{
    return now + now / world->rate;
}

static hf_time world_clock(const struct world *world, hf_time by_client)
{
    hf_time at = by_client;

    while (client_clock(world, at) > by_client) /* two or three rounds */
        at -= client_clock(world, at) - by_client;
    while (client_clock(world, at) < by_client)
        at += by_client - client_clock(world, at);
    return at;
}

static void put_at(struct world *world, hf_time now, hf_time by_client, enum what what)
{
    hf_time at = world_clock(world, by_client);

    world_put(world, at > now ? at : now, what, world->plan);
}

/* This cancels an earlier plan. */
static void plan(struct world *world, hf_time now)
{
    world->plan++;
    put_at(world, now, hf_lease_quorum_connect_at(&world->lease, world->beating), RENEW);
    if (!world->beating)
        put_at(world, now, hf_lease_quorum_write_at(&world->lease, world->last_beat),
               BEAT);
}

static void connect_anew(struct world *world, hf_time now)
{
    static const hf_time times[] = { 4, 4, 2, 3, 5, 8 }; /* quarters */
    int                  number = world->connections;

    if (number == CONNECTIONS || world->used < 0)
        return;
    hf_time timeout = world->timeout;
    if (world->restless != 0)
        timeout = timeout * times[world_between(world, 0, 5)] / 4;
    if (timeout < 2 * world->tick || timeout < 2 * HF_SEC)
        timeout = world->timeout;
    world->connection[world->connections++] = (struct connection){ now, timeout };
    world->used = -1;
    world->plan++;
    world_send(world, &world->from_client, now, CONNECT, number);
}

static void greeted(struct world *world, struct event event)
{
    const struct connection *connection = &world->connection[event.number];

    if (event.number != world->connections - 1)
        return; /* of an older connection */
    world->used = event.number;
    world->beating = false;
    hf_lease_quorum_connected(&world->lease, client_clock(world, connection->sent),
                              client_clock(world, event.at), connection->timeout);
    world_put(world, event.at, BEAT, ++world->plan);
}

static void answered(struct world *world, struct event event)
{
    struct request *request = &world->request[event.number];
    hf_time         sent = client_clock(world, request->sent);

    if (request->connection != world->used)
        return;
    hf_lease_quorum_answered(&world->lease, sent, client_clock(world, event.at),
                             request->write);
    world->last_answer = sent;
    if (request->write) {
        world->last_write = sent;
        world->beating = false;
    }
    plan(world, event.at);
}

static void ask(struct world *world, struct event event)
{
    bool write = event.what == BEAT;

    if (event.what == READ)
        world_put(world, event.at + world_between(world, 1, world->pace), READ, 0);
    if (world->requests == REQUESTS || world->used < 0 ||
        (write && (event.number != world->plan || world->beating)))
        return;
    if (write) {
        world->beating = true;
        world->last_beat = client_clock(world, event.at);
    }
    world->request[world->requests] = (struct request){ event.at, write, world->used };
    world_send(world, &world->from_client, event.at, SENT, world->requests++);
}

static void client(struct world *world, struct event event)
{
    switch (event.what) {
    case ANSWERED:
        answered(world, event);
        break;
    case GREETED:
        greeted(world, event);
        break;
    case RENEW:
        if (event.number == world->plan)
            connect_anew(world, event.at);
        break;
    case RESTLESS:
        world_put(world, event.at + world_between(world, 1, world->restless), RESTLESS,
                  0);
        connect_anew(world, event.at);
        break;
    default:
        ask(world, event);
    }
}

static void step(struct world *world, struct event event)
{
    switch (event.what) {
    case ASK:
    case TOLD:
    case FORWARDED:
    case REVALIDATE:
    case DEPOSED:
    case EXPIRE:
        world_leader(world, event);
        break;
    case ASKED:
    case SENT:
    case COMMITTED:
    case CONNECT:
    case VALID:
    case FOLLOWER_OFF:
        world_follower(world, event);
        break;
    default:
        client(world, event);
    }
}

/* ---- One world ----------------------------------------------------------------- */

static void world_begin(struct world *world, uint64_t seed)
{
    static const hf_time rates[] = { -501, 501, -4000, 4000, INT64_MAX };

    *world = (struct world){ .seed = seed, .follows = true, .connections = 1 };
    /* The fewest ticks that a server allows are the hardest.  The store refuses sessions
     * under 2 s. */
    do {
        world->tick = world_between(world, 1, 20) * 100 * HF_MS;
        world->timeout =
            (world_between(world, 0, 1) ? 2 : world_between(world, 3, 20)) * world->tick;
    } while (world->timeout < 2 * HF_SEC);
    world->sync_limit = world_between(world, 2, 10) * world->tick;
    world->hop = world_between(world, 50, 5000) * HF_MS / 1000;
    world->pace = world->timeout / world_between(world, 2, 20);
    world->rate = rates[world_between(world, 0, 4)];

    hf_time start = world_between(world, 0, world->tick);
    hf_time cut =
        start + 3 * world->timeout + world_between(world, 0, 2 * world->timeout);
    int  which = (int)world_between(world, 0, 6);
    bool falls = which == 6; /* the leader is deposed, instead of a broken network */
    world->spite = which > 2 && !falls ? cut : 0;
    world->to_leader.cut = which == 0 || which > 2 ? INT64_MAX : cut;
    world->to_follower.cut = which == 1 || which > 2 ? INT64_MAX : cut;
    world->to_client.cut = world->from_client.cut = INT64_MAX;
    world->restless = world_between(world, 0, 2) == 0 ? world->timeout * 2 : 0;

    /* The session exists, and the leader knows of it. */
    world->connection[0] = (struct connection){ start, world->timeout };
    world->touched = world->timeout;
    hf_lease_quorum_init(&world->lease, world->timeout, 0);
    hf_lease_quorum_connected(&world->lease, client_clock(world, start),
                              client_clock(world, start + HF_MS), world->timeout);
    world_follower_heard(world, start);
    world_put(world, start, TOLD, (int)(world->timeout / HF_MS));
    world_put(world, start + world_between(world, 0, world->tick / 2), ASK, 0);
    world_put(world, start + 2 * HF_MS, BEAT, 0);
    world_put(world, start + world_between(world, 1, world->pace), READ, 0);
    if (falls)
        world_put(world, cut, DEPOSED, 0);
    if (world->restless != 0)
        world_put(world, start + world_between(world, 1, world->restless), RESTLESS, 0);
}

/* How long before the end of its session the client stops, by three rules and its own
 * clock. */
struct margins {
    hf_time ours, last_answer, last_write, timeout;
};

static struct margins world_run(uint64_t seed)
{
    static struct world world;

    world_begin(&world, seed);
    hf_time deadline = 0; /* the latest deadline, from the end of the session on */
    for (struct event event = world_take(&world);
         world.expired == 0 || event.at < world.expired + 2 * world.timeout;
         event = world_take(&world)) {
        step(&world, event);
        if (world.expired != 0 && world.lease.deadline > deadline)
            deadline = world.lease.deadline;
    }
    hf_time end = client_clock(&world, world.expired);
    return (struct margins){
        .ours = end - deadline,
        .last_answer = end - (world.last_answer + hf_lease_shorter(world.timeout)),
        .last_write = end - (world.last_write + hf_lease_shorter(world.timeout)),
        .timeout = world.timeout,
    };
}

static uint64_t worlds(void)
{
    const char *text = getenv("HF_SIM_SCHEDULES");

    return text != NULL ? strtoull(text, NULL, 10) : 6000;
}

static void test_the_deadline_comes_before_the_session_ends(void **state)
{
    hf_time least = INT64_MAX;
    double  total = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= worlds(); seed++) {
        struct margins margins = world_run(seed);
        hf_time        part = margins.ours * 1000 / margins.timeout;
        if (margins.ours < 0)
            fail_msg("seed %llu: %lld us too late", (unsigned long long)seed,
                     (long long)-margins.ours / 1000);
        least = part < least ? part : least;
        total += (double)part / 1000;
    }
    printf("# margin of T: %.3f at least, %.3f on average\n", (double)least / 1000,
           total / (double)worlds());
}

static void test_simpler_rules_are_wrong(void **state)
{
    uint64_t by_answer = 0, by_write = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= worlds(); seed++) {
        struct margins margins = world_run(seed);
        by_answer += margins.last_answer < 0;
        by_write += margins.last_write < 0;
    }
    printf(
        "# of %llu worlds, last answer + T is too late in %llu, last write + T in %llu\n",
        (unsigned long long)worlds(), (unsigned long long)by_answer,
        (unsigned long long)by_write);
    assert_true(by_answer > worlds() / 5);
    assert_true(by_write > worlds() / 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_deadline_comes_before_the_session_ends),
        cmocka_unit_test(test_simpler_rules_are_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
