/* connected.c - see connected.h. */
#include "connected.h"

#include <stdio.h>

void open_connected(struct player *player, const char *server)
{
    static char url[128];
    struct ask  nothing;

    snprintf(url, sizeof url, "zk://%s?session=30s", server);
    promise_use(url);
    player_open(player);
    list(player, "nothing", &nothing);
}
