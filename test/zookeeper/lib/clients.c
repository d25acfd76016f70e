/* clients.c - see clients.h. */
#include "clients.h"

#include "witness.h"

#include <stdio.h>

void actor_open_zk(struct actor *actor, const char *address, const char *name)
{
    char url[128];

    snprintf(url, sizeof url, "zk://%s", address);
    actor_open_url(actor, url, name);
}

const char *actor_folder(const struct actor *actor)
{
    static char folder[64];

    snprintf(folder, sizeof folder, "/%s", hf_name(actor->lock));
    return folder;
}

void actor_queue_zk(struct actor *actor, size_t nodes)
{
    assert_int_equal(hf_acquire_start(actor->lock, ACTOR_LIMIT_MS), 0);
    witness_await(actor_folder(actor), nodes);
}

void player_connect_url(struct player *player, const char *url)
{
    struct request nothing;

    promise_use(url);
    player_open(player);
    list(player, "nothing", &nothing);
}

void player_connect(struct player *player, const char *server)
{
    static char url[128];

    snprintf(url, sizeof url, "zk://%s?session=30s", server);
    player_connect_url(player, url);
}

void player_open_60s(struct player *player, const char *server)
{
    static char url[64];

    snprintf(url, sizeof url, "zk://%s?session=60s", server);
    promise_use(url);
    player_open_for(player, 60000);
}
