/* quorum_model.c - see quorum_model.h. */
#include "unit/lib/quorum_model.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

hf_time world_between(struct world *world, hf_time least, hf_time most)
{
    return least + (hf_time)(hf_random_next(&world->seed) % (uint64_t)(most - least + 1));
}

void world_put(struct world *world, hf_time at, enum what what, int number)
{
    assert_true(world->events < EVENTS);
    world->event[world->events++] = (struct event){ at, what, number };
}

struct event world_take(struct world *world)
{
    size_t first = 0;

    for (size_t i = 1; i < world->events; i++)
        if (world->event[i].at < world->event[first].at)
            first = i;
    struct event event = world->event[first];
    world->event[first] = world->event[--world->events];
    return event;
}

/* One message in fifty takes up to twenty times as long. */
void world_send(struct world *world, struct way *way, hf_time now, enum what what,
                int number)
{
    bool    slow = world_between(world, 0, 49) == 0;
    hf_time at = now + world_between(world, world->hop / 8, world->hop * (slow ? 20 : 1));

    if (at < way->last)
        at = way->last;
    way->last = at;
    if (at < way->cut)
        world_put(world, at, what, number);
}

static void touch(struct world *world, hf_time now, hf_time timeout)
{
    if (world->deposed)
        return; /* a deposed leader does not matter */
    world->expires = ((now + timeout) / world->tick + 1) * world->tick;
    world_put(world, world->expires, EXPIRE, 0);
}

static void revalidate(struct world *world, struct event event)
{
    hf_time timeout = world->connection[event.number].timeout;

    touch(world, event.at, timeout);
    if (timeout >= world->lease.timeout) {
        world_send(world, &world->to_follower, event.at, VALID, event.number);
        return;
    }
    world->served = event.number;
    world_put(world, event.at + world_between(world, 0, 3 * world->hop), GREETED,
              event.number);
}

void world_leader(struct world *world, struct event event)
{
    bool came = event.what == TOLD || event.what == FORWARDED || event.what == REVALIDATE;

    if (came && event.at >= world->to_leader.cut)
        return;
    if (came && event.what != TOLD && world->expired != 0 && !world->deposed)
        return; /* the session has expired */
    switch (event.what) {
    case ASK:
        if (event.at >= world->told + world->sync_limit)
            break; /* the leader drops the follower */
        world_send(world, &world->to_follower, event.at, ASKED, 0);
        world_put(world, event.at + world->tick / 2 + world_between(world, 0, 10 * HF_MS),
                  ASK, 0);
        break;
    case TOLD:
        world->told = event.at;
        if (event.number > 0)
            touch(world, event.at, event.number * HF_MS);
        break;
    case REVALIDATE:
        revalidate(world, event);
        break;
    case DEPOSED: /* the new leader counts from now, by the T that sessions began with */
        touch(world, event.at, world->timeout);
        world->deposed = true;
        break;
    case FORWARDED:
        if (world->deposed)
            break;
        /* A write was committed by the old leader: it counts.  No other will be. */
        if (world->spite != 0 && event.at >= world->spite &&
            world->to_leader.cut == INT64_MAX)
            world->to_leader.cut = event.at + 1;
        world_send(world, &world->to_follower, event.at, COMMITTED, event.number);
        break;
    default: /* EXPIRE */
        if (world->expires <= event.at && world->expired == 0)
            world->expired = event.at;
    }
}

void world_follower_heard(struct world *world, hf_time now)
{
    world->heard = now;
    world_put(world, now + world->sync_limit, FOLLOWER_OFF, 0);
}

void world_follower(struct world *world, struct event event)
{
    if (!world->follows)
        return;
    switch (event.what) {
    case ASKED:
        world_follower_heard(world, event.at);
        world_send(world, &world->to_leader, event.at, TOLD,
                   (int)(world->touched / HF_MS));
        world->touched = 0;
        break;
    case CONNECT:
        world_send(world, &world->to_leader, event.at, REVALIDATE, event.number);
        break;
    case VALID:
        world_follower_heard(world, event.at);
        world->served = event.number;
        world_send(world, &world->to_client, event.at, GREETED, event.number);
        break;
    case SENT:
        if (world->request[event.number].connection != world->served)
            break; /* that connection is closed */
        world->touched = world->connection[world->served].timeout;
        if (world->request[event.number].write)
            world_send(world, &world->to_leader, event.at, FORWARDED, event.number);
        else
            world_send(world, &world->to_client, event.at, ANSWERED, event.number);
        break;
    case COMMITTED:
        world_follower_heard(world, event.at);
        world_send(world, &world->to_client, event.at, ANSWERED, event.number);
        break;
    default: /* FOLLOWER_OFF */
        world->follows = event.at < world->heard + world->sync_limit;
    }
}
