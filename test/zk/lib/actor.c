/* actor.c - see actor.h. */
#include "actor.h"

#include "witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

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
