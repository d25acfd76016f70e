/* cut.c - the connection is cut at every byte, see lib/cuts.h.
 *
 * The connection for messages is the one that sleeps in hf_await(), while a client waits. */
/* needs: standalone --setting innodb-flush-log-at-trx-commit=0 */
#include "lib/cuts.h"
#include "lib/server_mariadb.h"

int main(void)
{
    static const struct cuts cuts = { .word = "`.hf_await(",
                                      .use = mariadb_use,
                                      .ttl_ms = 10000,
                                      .step_up = 17,
                                      .step_down = 7 };

    return cuts_run(&cuts);
}
