/* snapshot.c - see snapshot.h. */
#include "snapshot.h"

#include "monitor.h"

#define HOUR_US ((int64_t)3600 * 1000000)

void snapshot_take(struct snapshot *snapshot, const struct monitor *monitor, int64_t now)
{
    *snapshot = (struct snapshot){
        .locks = &monitor->locks,
        .history = &monitor->history,
        .store = hf_where(monitor->client),
        .why = monitor->why,
        .reachable = monitor->reachable,
        .complete = monitor->complete,
        .p50_us = monitor_round_trip_us(monitor, 50),
        .p99_us = monitor_round_trip_us(monitor, 99),
        .lost = monitor_lost_since(monitor, now - HOUR_US),
        .as_of = monitor->as_of,
        .lease_ms = monitor->lease_ms,
        .now = now,
    };
}
