/* sight.c - see sight.h. */
#include "sight.h"

#include "eye.h"

#define HOUR_US ((int64_t)3600 * 1000000)

void sight_take(struct sight *sight, const struct eye *eye, int64_t now)
{
    *sight = (struct sight){
        .board = &eye->board,
        .past = &eye->past,
        .store = hf_where(eye->client),
        .why = eye->why,
        .reachable = eye->reachable,
        .complete = eye->complete,
        .p50_us = eye_round_trip_us(eye, 50),
        .p99_us = eye_round_trip_us(eye, 99),
        .lost = eye_lost_since(eye, now - HOUR_US),
        .as_of = eye->as_of,
        .lease_ms = eye->lease_ms,
        .now = now,
    };
}
