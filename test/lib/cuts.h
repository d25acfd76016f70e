/* cuts.h - the connection is cut at every byte of an acquire and a release, in both
 * directions; then during a hand-over and its message; then during greetings.
 *
 * lib/lock_round.h checks what must be true whatever is lost.  Most of the time is spent
 * waiting to reconnect, so several processes share the work, each in a namespace of its
 * own.
 */
#ifndef HF_TEST_CUTS_H
#define HF_TEST_CUTS_H

#include <stdbool.h>
#include <stdint.h>

struct cuts {
    const char *word; /* that marks the connection for messages, see tcpproxy.h */
    void (*use)(const char *name); /* the namespace of a process */
    int      ttl_ms;               /* no cut lasts long enough to end a session */
    bool     has_messages;         /* there is always a connection for messages */
    uint64_t step_up, step_down;   /* of a hand-over, every so many bytes */
};

/* For main(): how many processes failed. */
int cuts_run(const struct cuts *cuts);

#endif
