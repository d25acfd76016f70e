/* drawn.h - the renewal numbers that this client has drawn, and when: how a client knows
 * that a session is dead without a time of day.
 *
 * Every renewal and every hello draws a number that is higher than all before, and we
 * remember when we got ours.  A session whose number is lower than one of ours was
 * renewed before we got that.  If that is longer ago than the session's ttl, by our
 * clock, the session is dead.  So we need not have seen a session to know that it is
 * dead.
 *
 * A server that has lost its last commits may draw the same numbers again: a replica that
 * missed them, or a server that was started with the data of a snapshot.  So each number
 * comes with its era, one run of one server, and counts in no other.  After a plain
 * restart every client starts to count again, which takes a ttl and is always safe. */
#ifndef HF_SERVED_DRAWN_H
#define HF_SERVED_DRAWN_H

#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_DRAWN         32
#define HF_DRAWN_LONGEST (3600 * HF_SEC) /* of all leases */

struct hf_drawn_number {
    int64_t number;
    hf_time when; /* we got the number; the server drew it earlier */
};

/* Zero it before the first use. */
struct hf_drawn {
    struct hf_drawn_number of[HF_DRAWN]; /* oldest first */
    size_t                 count;
    char                   era[64];
};

/* We got this number just now, at `now`.  Numbers that come sooner than `gap` after
 * another are not kept.  True: the era is another, and all numbers before are forgotten. */
bool hf_drawn_add(struct hf_drawn *drawn, int64_t number, const char *era, hf_time now,
                  hf_time gap);

/* When a session with that number is dead, unless it is renewed; HF_NEVER: not known. */
hf_time hf_drawn_stale_at(const struct hf_drawn *drawn, int64_t number, hf_time ttl);

/* For people: how much at least is left of a lease that was renewed with that number, in
 * microseconds.  0: not known. */
int64_t hf_drawn_left(const struct hf_drawn *drawn, int64_t number, int64_t ttl_ms,
                      hf_time now);

#endif
