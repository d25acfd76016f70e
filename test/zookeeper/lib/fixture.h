/* fixture.h - set-up and tear-down of whole programs or single cases: a proxy to the server
 * that fails on demand, and the session of another program at the server. */
#ifndef HF_TEST_ZK_FIXTURE_H
#define HF_TEST_ZK_FIXTURE_H

#include "lib/zkproxy.h"
#include "lib/zkraw.h"

extern struct zkproxy *proxy;

int start_proxy(void **state);
int stop_proxy(void **state);

extern struct zkraw foreign; /* the other program */

int start_foreign(void **state);
int stop_foreign(void **state);

int start_both(void **state);
int stop_both(void **state);

#endif
