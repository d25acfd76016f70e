/* proxied.c - see proxied.h. */
#include "proxied.h"

#include "witness.h"

struct zkproxy *proxy;

int start_proxy(void **state)
{
    (void)state;
    proxy = zkproxy_start(witness_server());
    return 0;
}

int stop_proxy(void **state)
{
    (void)state;
    zkproxy_stop(proxy);
    return 0;
}
