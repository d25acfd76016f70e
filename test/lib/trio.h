/* trio.h - one lock and three clients: one holds it, one waits, and a rival tries to get it all
 * the time, while something is done to the server.
 *
 * Never two holders; tokens rise; the waiter gets it in the end.  See witness.h for the server.
 */
#ifndef HF_TEST_TRIO_H
#define HF_TEST_TRIO_H

#include "lib/witness.h"

struct trio {
    struct actor  actor[3];
    struct actor *holder, *waiter, *late; /* these; the last does nothing by itself */
    struct rival  rival;
    char          name[32];
};

/* One for each case: when that fails, its rival lives on. */
struct trio *trio_new(const char *name, int ttl_ms);
void         trio_free(struct trio *trio);

/* Watch them for a while: as long as the holder has it, the waiter waits. */
void trio_watch(struct trio *trio, int ms);

/* Released (`kept`) or lost: then the waiter is next, and after it anybody.  Frees it. */
void trio_end(struct trio *trio, bool kept);

/* Must be higher than all before, of any trio. */
void trio_token(uint64_t token);

/* Somebody who has just come tries for a while, with a session of 500 ms, to get what `holder`
 * has; then the holder lets go or has lost it, and it is the other's.  Closes both. */
void trio_newcomer(struct actor *holder, const char *name, int ms);

#endif
