/* connected.h - a player that the server has let in. */
#ifndef HF_TEST_ZK_CONNECTED_H
#define HF_TEST_ZK_CONNECTED_H

#include "lib/promise.h"

/* Open a player at HOST:PORT, or as somebody: USER:PASSWORD@HOST:PORT.  Its session lasts
 * 30 s, and has begun. */
void open_connected(struct player *player, const char *server);

#endif
