/* host.c - see host.h. */
#include "lib/host.h"

#include <assert.h>
#include <stdlib.h>

#define MILLION 1000000

hf_time host_clock(const struct host *host, hf_time now)
{
    return host->offset + now + now * host->drift / MILLION;
}

hf_time host_when(const struct host *host, hf_time shown)
{
    if (shown == HF_NEVER)
        return HF_NEVER;
    if (shown <= host->offset)
        return 0;

    hf_time when = (shown - host->offset) * MILLION / (MILLION + host->drift);
    while (when > 0 && host_clock(host, when - 1) >= shown)
        when--;
    while (host_clock(host, when) < shown)
        when++;
    return when;
}

void host_start(struct host *host, uint64_t seed)
{
    host->wire = net_wire(host->net);
    if (host->wire == NULL)
        abort();
    host->store = far_open(host->wire, host->ttl, seed);
    hf_engine_init(&host->engine, host->store, seed);
    host->stopped = false;
    host->wake = 0;
}

void host_close(struct host *host, bool politely)
{
    assert(host->store != NULL);
    if (!politely)
        host->wire->deaf = true;
    host->store->impl->close(host->store);
    host->store = NULL;
}

hf_time host_next(const struct host *host)
{
    if (host->store == NULL || host->stopped)
        return HF_NEVER;
    return host->wire->inbox != NULL ? 0 : host->wake;
}

void host_cut(struct host *host, bool late)
{
    net_cut(host->wire, late);
    host->wake = 0;
}

void host_stop(struct host *host, bool stop)
{
    host->stopped = stop;
    host->wake = 0; /* to be looked at when it runs again */
}

void host_run(struct host *host)
{
    assert(host->store != NULL && !host->stopped);
    hf_engine_turn(&host->engine, host_clock(host, host->net->now), true);
    host->wake = host_when(host, hf_engine_wake(&host->engine));
}
