/* client.c - see client.h. */
#include "lib/sim/client.h"

#include <assert.h>
#include <stdlib.h>

#define MILLION 1000000

hf_time sim_client_clock(const struct sim_client *client, hf_time now)
{
    return client->offset + now + now * client->drift / MILLION;
}

hf_time sim_client_when(const struct sim_client *client, hf_time shown)
{
    if (shown == HF_NEVER)
        return HF_NEVER;
    if (shown <= client->offset)
        return 0;

    hf_time when = (shown - client->offset) * MILLION / (MILLION + client->drift);
    while (when > 0 && sim_client_clock(client, when - 1) >= shown)
        when--;
    while (sim_client_clock(client, when) < shown)
        when++;
    return when;
}

void sim_client_start(struct sim_client *client, uint64_t seed)
{
    client->wire = sim_network_wire(client->net);
    if (client->wire == NULL)
        abort();
    client->store = sim_store_open(client->wire, client->ttl, seed);
    hf_engine_init(&client->engine, client->store, seed);
    client->stopped = false;
    client->wake = 0;
}

void sim_client_close(struct sim_client *client, bool politely)
{
    assert(client->store != NULL);
    if (!politely)
        client->wire->deaf = true;
    client->store->impl->close(client->store);
    client->store = NULL;
}

hf_time sim_client_next(const struct sim_client *client)
{
    if (client->store == NULL || client->stopped)
        return HF_NEVER;
    return client->wire->pending != NULL ? 0 : client->wake;
}

void sim_client_cut(struct sim_client *client, bool late)
{
    sim_network_cut(client->wire, late);
    client->wake = 0;
}

void sim_client_stop(struct sim_client *client, bool stop)
{
    client->stopped = stop;
    client->wake = 0; /* to be looked at when it runs again */
}

void sim_client_run(struct sim_client *client)
{
    assert(client->store != NULL && !client->stopped);
    hf_engine_turn(&client->engine, sim_client_clock(client, client->net->now), true);
    client->wake = sim_client_when(client, hf_engine_wake(&client->engine));
}
