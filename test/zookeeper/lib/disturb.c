/* disturb.c - see disturb.h. */
#include "disturb.h"

#include "base/random.h"

#include <poll.h>

void zkproxy_disturb(struct zkproxy *proxy, uint64_t *seed)
{
    uint64_t nth = 1 + hf_random_next(seed) % 8;

    switch (hf_random_next(seed) % 6) {
    case 0:
        zkproxy_drop(proxy);
        break;
    case 1:
        zkproxy_rule(proxy,
                     &(struct zkproxy_rule){ ZKPROXY_DROP_BEFORE, ZKPROXY_ANY, nth, 0 });
        break;
    case 2:
        zkproxy_rule(proxy,
                     &(struct zkproxy_rule){ ZKPROXY_DROP_AFTER, ZKPROXY_ANY, nth, 0 });
        break;
    case 3:
        zkproxy_rule(proxy, &(struct zkproxy_rule){ ZKPROXY_CUT_DOWN, 0, nth * 37, 0 });
        break;
    case 4:
        zkproxy_freeze(proxy, (enum zkproxy_way)(1 + nth % 3));
        poll(NULL, 0, (int)nth * 5);
        zkproxy_thaw(proxy);
        break;
    default:
        zkproxy_delay(proxy, ZKPROXY_BOTH, (int)(nth % 3) * 3);
    }
}
