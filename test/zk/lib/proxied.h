/* proxied.h - one way to the server that can fail, for a case or for all of a program. */
#ifndef HF_TEST_PROXIED_H
#define HF_TEST_PROXIED_H

#include "lib/zkproxy.h"

extern struct zkproxy *proxy;

int start_proxy(void **state);
int stop_proxy(void **state);

#endif
