/* sentinel_back.c - Sentinels go back to a master that they replaced, before they made it a
 * replica.  It does not know that it was replaced, and still has its data of that time. */
/* needs: pair --sentinels 3 --quorum 2 */
#include "lib/promise.h"
#include "lib/server_redis.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define TTL_MS 3000 /* longer than a failover takes */

static void open_by_sentinel(struct actor *actor, const char *prefix)
{
    char url[256];

    snprintf(url, sizeof url, "redis+sentinel://%s/holdfast?ttl=%dms&prefix=%s",
             redis_other("SENTINELS"), TTL_MS, prefix);
    actor_open_url(actor, url, prefix); /* a name of its own, for the checker */
}

static bool is_master(int nth)
{
    return strstr(redis_ask_of(nth, "INFO replication"), "role:master") != NULL;
}

/* One prefix that server 1 knows from its first time as a master, and one that it does not
 * know at all. */
static void the_lock_is_kept_where_sentinels_go_back(void **state)
{
    static const char *const prefix[] = { "known", "unknown" };
    static struct actor      old, holder[2], late[2];
    uint64_t                 token[2];

    (void)state;
    open_by_sentinel(&old, prefix[0]);
    actor_take(&old);
    actor_give(&old);
    actor_close(&old);
    server_tell("failover");
    for (int i = 0; i < 2; i++) {
        open_by_sentinel(&holder[i], prefix[i]);
        actor_start(&holder[i]);
    }
    for (int i = 0; i < 2; i++) {
        actor_await(&holder[i], HF_HELD);
        token[i] = hf_token(holder[i].lock);
    }
    assert_true(is_master(1) && is_master(2)); /* the Sentinels take 8 s to change that */

    server_tell("failover");
    for (int i = 0; i < 2; i++) {
        open_by_sentinel(&late[i], prefix[i]);
        actor_start(&late[i]);
    }
    for (hf_time end = hf_now() + (TTL_MS + 500) * HF_MS; hf_now() < end;
         actors_watch(holder, 2, 2))
        actors_watch(late, 2, 2);
    assert_true(is_master(1));
    for (int i = 0; i < 2; i++) {
        actor_give(&holder[i]); /* it was not lost */
        actor_await(&late[i], HF_HELD);
        assert_true(hf_token(late[i].lock) > token[i]);
        actor_give(&late[i]);
        actor_close(&holder[i]);
        actor_close(&late[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lock_is_kept_where_sentinels_go_back),
    };

    server_find();
    actors_write();
    redis_other("SENTINELS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
