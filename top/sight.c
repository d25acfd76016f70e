/* sight.c - see sight.h. */
#include "sight.h"

#include "eye.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_US ((int64_t)3600 * 1000000)

/* Without HOLDFAST_URL it is the default store, for everybody's next command, too.  A URL
 * that is shown differently has a secret in it. */
static const char *url_to_type(const char *shown)
{
    const char *url = getenv("HOLDFAST_URL");

    return url != NULL && *url != '\0' && strcmp(url, shown) == 0 ? shown : NULL;
}

void sight_take(struct sight *sight, const struct eye *eye, int64_t now)
{
    const char *store = hf_where(eye->client);

    *sight = (struct sight){
        .board = &eye->board,
        .past = &eye->past,
        .store = store,
        .url = url_to_type(store),
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
