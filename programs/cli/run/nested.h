/* nested.h - a run inside of a run must not wait for itself.
 *
 * The runs around us hold their locks until we have ended.  So we would wait for ever if
 *
 *     we do not fit in beside them, or
 *     a waiter ahead of us does not: first come, first served.
 *
 * HOLDFAST_HELD has the places of the runs around a command, joined by blanks, each as
 *
 *     NAME/TOKEN/PID@HOST        nightly/1763240000123456/4242@web1
 *
 * with %XX for '/', '%', blanks and controls in NAME and HOST.  It says neither the store
 * nor the kind: a holder with that token, process and host is that place, and the queue
 * tells the rest.  So this works however the store is named, and if a place was lost
 * meanwhile.
 *
 * sudo(8) and others start a command with another environment.  /proc still shows which
 * runs are around us on this host:
 *
 *     holdfast run NAME ... ---- guardian ---- command ---- ... ---- this process
 *
 * A program that holds a lock by itself and starts us is no such case: it need not wait
 * for our end.
 */
#ifndef NESTED_H
#define NESTED_H

#include <holdfast.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- held.c ---- */

/* Does a run around us hold a lock of that name?  In whatever store. */
bool held_name(const char *name);

/* Is this place one of theirs? */
bool held_place(const char *name, uint64_t token, const char *host, int64_t pid);

/* Add a place to HOLDFAST_HELD; -1: no memory. */
int held_add(const char *name, uint64_t token, int64_t pid);

/* ---- nested.c ---- */

enum nested {
    NESTED_FINE,   /* it will be granted, or those around us are not in its way */
    NESTED_UNSURE, /* our place is not in the report yet: look again */
    NESTED_STUCK,  /* we do not fit in beside what is held around us */
    NESTED_BEHIND, /* a waiter ahead of us does not */
};

/* Judge by a report on a name whether a request for `weight` of `capacity` would be
 * granted.  Nobody joins ahead of a place: one report with our own place in it is
 * enough. */
enum nested nested_judge(const struct hf_report *report, const char *name,
                         uint32_t weight, uint32_t capacity);

#endif
