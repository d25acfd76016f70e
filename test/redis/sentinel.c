/* sentinel.c - redis+sentinel: follows the master, whoever that is. */
/* needs: pair --sentinels 1 */
#include "lib/actor.h"
#include "lib/promise.h"
#include "lib/witness.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define TTL_MS 2500 /* longer than a failover takes */

static void open_by_sentinel(struct actor *actor, const char *name)
{
    char url[256];

    snprintf(url, sizeof url, "redis+sentinel://%s/holdfast?ttl=%dms",
             witness_other("SENTINELS"), TTL_MS);
    actor_open_url(actor, url, name);
}

/* The master dies while a lock is held: the holder puts it down at the new one. */
static void the_master_dies(void **state)
{
    static struct actor actor[2], late;
    static struct rival rival;

    (void)state;
    open_by_sentinel(&actor[0], "dies");
    open_by_sentinel(&actor[1], "dies");
    uint64_t token = actor_take(&actor[0]);
    actor_queue(&actor[1], 1);
    rival_start(&rival, witness_other("REPLICA"), TTL_MS, "dies", actor, 2);
    hf_time start = hf_now();
    witness_tell("kill 1");
    hf_time end = start + ACTOR_LIMIT_MS * HF_MS;
    while (strstr(witness_ask_of(2, "INFO replication"), "role:master") == NULL &&
           hf_now() < end)
        poll(NULL, 0, 10);
    print_message("# a new master after %d ms\n", (int)((hf_now() - start) / HF_MS));
    open_by_sentinel(&late, "dies");
    end = hf_now() + (TTL_MS + 500) * HF_MS;
    while (hf_now() < end) {
        if (actor_has(&actor[0]) && actor_has(&actor[1]))
            fail_msg("two holders");
        poll(NULL, 0, 2);
    }
    int r = hf_release(actor[0].lock);
    print_message("# %s\n", r == 0 ? "kept" : hf_errname(r));
    assert_int_equal(r, 0);
    actor_await(&actor[1], HF_HELD);
    assert_true(hf_token(actor[1].lock) > token);
    token = hf_token(actor[1].lock);
    actor_give(&actor[1]);
    rival_stop(&rival);
    assert_true(actor_take(&late) > token);
    actor_give(&late);
    for (size_t i = 0; i < 2; i++)
        actor_close(&actor[i]);
    actor_close(&late);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_master_dies) };

    witness_other("SENTINELS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
