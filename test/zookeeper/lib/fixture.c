/* fixture.c - see fixture.h. */
#include "fixture.h"

#include "witness.h"

#define SESSION_MS 30000

struct zkproxy *proxy;
struct zkraw    foreign;

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

int start_foreign(void **state)
{
    (void)state;
    return zkraw_open(&foreign, witness_server(), SESSION_MS) ? 0 : -1;
}

int stop_foreign(void **state)
{
    (void)state;
    zkraw_close(&foreign);
    return 0;
}

int start_both(void **state)
{
    int r = start_proxy(state);

    return r == 0 ? start_foreign(state) : r;
}

int stop_both(void **state)
{
    stop_foreign(state);
    return stop_proxy(state);
}
