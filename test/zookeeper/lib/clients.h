/* clients.h - clients of the ZooKeeper server under test. */
#ifndef HF_TEST_ZK_CLIENTS_H
#define HF_TEST_ZK_CLIENTS_H

#include "lib/actors.h"
#include "lib/promise.h"

/* ---- Actors: clients with one mutex, see test/lib/actors.h -------------------------- */

/* `address`: host:port, and whatever else the URL needs behind it. */
void actor_open_zk(struct actor *actor, const char *address, const char *name);

/* The path of its lock's folder; until the next call. */
const char *actor_folder(const struct actor *actor);

/* Begin to wait, until the server shows `nodes` in the line.  The client may not have its
 * answer yet. */
void actor_queue_zk(struct actor *actor, size_t nodes);

/* ---- Players: a store without a client, see test/lib/promise.h ---------------------- */

/* Open a player at this URL; or at HOST:PORT or USER:PASSWORD@HOST:PORT, with a session of
 * 30 s.  It is connected when this returns. */
void player_connect_url(struct player *player, const char *url);
void player_connect(struct player *player, const char *server);

/* Open a player at HOST:PORT with a session of 60 s; it connects when it is first used. */
void player_open_60s(struct player *player, const char *server);

#endif
