/* remote_caller.h - a store that only connects, in a time of the test's own. */
#ifndef HF_TEST_REMOTE_CALLER_H
#define HF_TEST_REMOTE_CALLER_H

#include "lib/net_peer.h"
#include "store/remote/dial.h"

#include "holdfast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CALLER_STEP (100 * HF_MS) /* its patience; with a greeting three times that */

struct caller {
    struct hf_store    store;
    struct hf_dial     dial;
    struct hf_dial_ops ops;
    hf_time            now;
    struct hf_server   list[8];
    hf_time            pause_most;
    bool               blocked, quiet;
    bool               eager; /* READY as soon as it has greeted, else by an echo */
    char               path[108];
    unsigned           overs, links; /* how often it was told so */
    enum hf_link       last_link;
    int                bound[4]; /* sockets of dead ports */
    size_t             bounds;
};

extern struct caller caller;

/* What it brings; a test may change a copy. */
extern const struct hf_dial_ops caller_ops;

/* For cmocka; then, with the servers named, the dial begins. */
int  caller_setup(void **state);
int  caller_teardown(void **state);
void caller_name(size_t i, const char *host, int port);
void caller_start(const struct hf_dial_ops *ops, size_t servers);

int caller_port(const struct peer *peer);
int caller_dead_port(void); /* it is bound, and nobody listens at it */

/* Real time goes on until it is in this phase; the dial's own stands still. */
void caller_settle(enum hf_dial_phase phase);

/* One try that fails: begun, and waited for. */
void caller_fail(void);

/* errmsg has this. */
void caller_said(const char *text);

#endif
