/* sentinel.c - redis+sentinel: follows the master, whichever server that is. */
/* needs: pair --sentinels 3 --quorum 2 */
#include "lib/promise.h"
#include "lib/server_redis.h"
#include "lib/session_keys.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define TTL_MS 4000 /* longer than a failover takes */

static const char *url(void)
{
    static char text[256];

    snprintf(text, sizeof text, "redis+sentinel://%s/holdfast?ttl=%dms",
             redis_other("SENTINELS"), TTL_MS);
    return text;
}

static void open_by_sentinel(struct actor *actor, const char *name)
{
    actor_open_url(actor, url(), name);
}

static bool says(int nth, const char *command, const char *text)
{
    return strstr(redis_ask_of(nth, "%s", command), text) != NULL;
}

static void until_says(int nth, const char *command, const char *text)
{
    hf_time end = hf_now() + 2 * ACTOR_LIMIT_MS * HF_MS;

    while (!says(nth, command, text)) {
        if (hf_now() > end)
            fail_msg("server %d does not say %s", nth, text);
        poll(NULL, 0, 10);
    }
}

/* The old master works on as a master until the Sentinels reconfigure it, several seconds
 * later.  Its clients must leave it before the new one grants anything. */
static void a_planned_failover_keeps_the_lock(void **state)
{
    static struct actor actor[2], bequeather;
    struct session_key  key;

    (void)state;
    actors_write();
    open_by_sentinel(&bequeather, "bequeathed");
    actor_take(&bequeather);
    session_key_take(bequeather.client, &key);
    open_by_sentinel(&actor[0], "planned");
    uint64_t token = actor_take(&actor[0]);
    server_tell("failover");
    hf_time start = hf_now();
    open_by_sentinel(&actor[1], "planned");
    actor_start(&actor[1]);
    while (says(1, "INFO replication", "role:master")) {
        actors_watch(actor, 2, 2);
        assert_true(hf_now() < start + 2 * ACTOR_LIMIT_MS * HF_MS);
    }
    int both = (int)((hf_now() - start) / HF_MS);
    print_message("# two masters for %d ms\n", both);
    assert_true(both > TTL_MS * 3 / 2); /* longer than the grace period */
    actor_give(&actor[0]);              /* it was not lost */
    actor_await(&actor[1], HF_HELD);
    assert_true(hf_token(actor[1].lock) > token);
    actor_give(&actor[1]);
    for (size_t i = 0; i < 2; i++)
        actor_close(&actor[i]);
    until_says(1, "INFO replication", "master_link_status:up");

    /* The session is at the new master, so it must be ended there. */
    assert_int_equal(hf_check(bequeather.lock, ACTOR_LIMIT_MS), 0);
    session_key_end(&key);
    actor_await(&bequeather, HF_LOST);
    actor_close(&bequeather);
}

/* Without a majority nobody knows whether this is still the master. */
static void without_a_majority_of_sentinels_the_lock_is_lost(void **state)
{
    static struct actor actor, late;

    (void)state;
    open_by_sentinel(&actor, "away");
    actor_take(&actor);
    hf_time start = hf_now();
    server_tell("freeze 4");
    poll(NULL, 0, TTL_MS + 200);
    assert_true(actor_has(&actor)); /* two of three are enough */
    server_tell("freeze 5");
    actor_await(&actor, HF_LOST);
    assert_true(actor.lost - start < (3 * TTL_MS + 700) * HF_MS);
    assert_int_equal(actor_release(&actor), HF_ELOST);
    open_by_sentinel(&late, "away");
    int r = actor_acquire(&late, 300);
    print_message("# %s: %s\n", hf_errname(r), hf_errmsg(late.client));
    assert_int_equal(r, HF_EDOWN);
    assert_non_null(strstr(hf_errmsg(late.client), "Sentinel"));
    server_tell("thaw 4");
    actor_take(&late);
    server_tell("thaw 5");
    actor_give(&late);
    actor_close(&late);
    actor_close(&actor);
}

/* The master, which is server 2 by now, dies while a lock is held. */
static void the_master_dies_and_the_lock_is_reclaimed(void **state)
{
    static struct actor actor[2], late;
    static struct rival rival;

    (void)state;
    actors_write();
    open_by_sentinel(&actor[0], "dies");
    open_by_sentinel(&actor[1], "dies");
    uint64_t token = actor_take(&actor[0]);
    actor_queue(&actor[1], 1);
    rival_start_url(&rival, url(), "dies", actor, 2);
    hf_time start = hf_now();
    server_tell("kill 2");
    until_says(1, "INFO replication", "role:master");
    hf_time took = hf_now() - start;
    print_message("# a new master after %d ms\n", (int)(took / HF_MS));
    open_by_sentinel(&late, "dies");
    actors_watch(actor, 2, TTL_MS + 500);
    int r = actor_release(&actor[0]);
    print_message("# %s\n", r == 0 ? "kept" : hf_errname(r));
    if (took < (TTL_MS - 1000) * HF_MS) /* on a busy machine the Sentinels take longer */
        assert_int_equal(r, 0);
    else
        assert_true(r == 0 || r == HF_ELOST);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_planned_failover_keeps_the_lock),
        cmocka_unit_test(the_master_dies_and_the_lock_is_reclaimed),
        cmocka_unit_test(
            without_a_majority_of_sentinels_the_lock_is_lost), /* slow after a failover */
    };

    server_find();
    redis_other("SENTINELS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
