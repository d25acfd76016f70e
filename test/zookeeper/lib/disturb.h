/* disturb.h - random faults of a connection. */
#ifndef HF_TEST_ZK_DISTURB_H
#define HF_TEST_ZK_DISTURB_H

#include "lib/zkproxy.h"

/* Never so long that a session expires. */
void zkproxy_disturb(struct zkproxy *proxy, uint64_t *seed);

#endif
