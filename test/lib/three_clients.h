/* three_clients.h - a holder, a waiter and a rival that tries all the time, of one lock,
 * while something happens to the server.
 *
 * There are never two holders; tokens rise; the waiter gets the lock in the end.
 */
#ifndef HF_TEST_THREE_CLIENTS_H
#define HF_TEST_THREE_CLIENTS_H

#include "lib/server.h"

struct three_clients {
    struct actor  actor[3];
    struct actor *holder, *waiter, *late; /* `late` does nothing by itself */
    struct rival  rival;
    char          name[32];
};

/* One for each case: its rival outlives a case that fails. */
struct three_clients *three_clients_new(const char *name, int ttl_ms);
void                  three_clients_free(struct three_clients *three);

/* Look at the holder and the waiter for a while. */
void three_clients_watch(struct three_clients *three, int ms);

/* The holder releases the lock (`kept`) or has lost it; then the waiter must get it.
 * Frees all. */
void three_clients_end(struct three_clients *three, bool kept);

/* The token must be higher than all before, in any case of the program. */
void three_clients_token(uint64_t token);

/* A new client, with a session of 500 ms, tries for a while to get the lock of `holder`;
 * then the holder releases it or has lost it, and the new client gets it.  Closes
 * both. */
void three_clients_newcomer(struct actor *holder, const char *name, int ms);

/* The same with a client that is open already. */
void three_clients_see_newcomer(struct actor *holder, struct actor *late, int ms);

#endif
