/* remote_dialer.h - a store that only connects, in virtual time. */
#ifndef HF_TEST_REMOTE_CALLER_H
#define HF_TEST_REMOTE_CALLER_H

#include "lib/net/peer.h"
#include "store/remote/dial.h"

#include "holdfast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define DIALER_STEP (100 * HF_MS) /* its time limit; three times that with a greeting */

struct dialer {
    struct hf_store    store;
    struct hf_dial     dial;
    struct hf_dial_ops ops;
    hf_time            now;
    struct hf_server   list[8];
    hf_time            pause_most;
    bool               blocked, quiet;
    bool               eager; /* READY after greeting; otherwise after an echo */
    char               path[108];
    unsigned           overs, links; /* calls of over() and of on_link() */
    enum hf_link       last_link;
    int                bound[4]; /* sockets of dead ports */
    size_t             bounds;
};

extern struct dialer dialer;

/* Its operations; a test may change a copy. */
extern const struct hf_dial_ops dialer_ops;

/* For cmocka; name the servers, then start the dial. */
int  dialer_setup(void **state);
int  dialer_teardown(void **state);
void dialer_name(size_t i, const char *host, int port);
void dialer_start(const struct hf_dial_ops *ops, size_t servers);

int dialer_port(const struct peer *peer);
int dialer_dead_port(void); /* bound, but nobody listens */

/* Wait in real time for this phase; virtual time stands still. */
void dialer_settle(enum hf_dial_phase phase);

/* Begin a try, and wait until it fails. */
void dialer_fail(void);

/* errmsg must contain this. */
void dialer_said(const char *text);

#endif
