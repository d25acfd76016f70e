/* cut.c - the connection is cut at every byte, see lib/cuts.h. */
/* needs: standalone */
#include "lib/cuts.h"
#include "lib/server_redis.h"

int main(void)
{
    static const struct cuts cuts = { .word = "SUBSCRIBE",
                                      .use = redis_use,
                                      .ttl_ms = 2000,
                                      .has_messages = true,
                                      .step_up = 13,
                                      .step_down = 3 };

    return cuts_run(&cuts);
}
