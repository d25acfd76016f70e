/* many_dead_sessions.c - hundreds of holders die together, and a waiter waits for one
 * lease only.  A session with many requests is lost once.
 *
 * HF_DEAD is the number of holders (300).
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/server.h"

#include <stdlib.h>

#define VERSION  "(SELECT version FROM holdfast.head)"
#define TTL_MS   2000
#define LONG_MS  15000 /* ttl of a holder */
#define SHORT_MS 500   /* ttl of its waiter */
#define REQUESTS 8

static void make_schema(void)
{
    static struct actor first;

    actor_open(&first, TTL_MS, "other");
    actor_take(&first);
    actor_give(&first);
    actor_close(&first);
}

static void hold_and_die(int count)
{
    server_tell("sql SELECT count(*) FROM generate_series(1, %d) i, LATERAL "
                "holdfast.hello(" VERSION ", lpad(to_hex(i), 16, '0'), 1, %d, true, '')",
                count, TTL_MS);
    server_tell("sql SELECT count(*) FROM generate_series(1, %d) i, LATERAL "
                "holdfast.enter(lpad(to_hex(i), 16, '0'), 1, 1, 'crowd', 1, 4294967295, "
                "false, false, 0, '', '')",
                count);
}

static void dead_sessions_expire_together(void **state)
{
    static struct actor writer;
    int                 count = getenv("HF_DEAD") != NULL ? atoi(getenv("HF_DEAD")) : 300;

    (void)state;
    make_schema();
    hold_and_die(count);
    actor_open(&writer, TTL_MS, "unused");
    hf_lock_free(writer.lock);
    assert_int_equal(hf_writer(writer.client, "crowd", &writer.lock), 0);
    assert_int_equal(server_holders("crowd"), count);
    hf_time start = hf_now();
    assert_int_equal(actor_acquire(&writer, 60000), 0);
    int ms = (int)((hf_now() - start) / HF_MS);
    print_message("# %d were dead, and the writer waited for %d ms\n", count, ms);
    assert_true(ms < 3 * TTL_MS);
    assert_int_equal(server_holders("crowd"), 1);
    actor_give(&writer);
    actor_close(&writer);
    server_expect_empty();
}

/* The waiter draws a number every sixth of a second, and needs one that is 15 s old. */
static void a_waiter_with_a_short_ttl_outlives_a_long_lease(void **state)
{
    static struct actor waiter;

    (void)state;
    make_schema();
    server_tell("sql SELECT code FROM holdfast.hello(" VERSION
                ", '00000000000000aa', 1, %d, true, '')",
                LONG_MS);
    server_tell("sql SELECT holdfast.enter('00000000000000aa', 1, 1, 'long', 1, 1, "
                "false, false, 0, '', '')");
    actor_open(&waiter, SHORT_MS, "long");
    hf_time start = hf_now();
    assert_int_equal(actor_acquire(&waiter, 2 * LONG_MS), 0);
    print_message("# it waited for %d ms\n", (int)((hf_now() - start) / HF_MS));
    assert_true(hf_now() - start >= LONG_MS * HF_MS);
    actor_give(&waiter);
    actor_close(&waiter);
    server_expect_empty();
}

static bool are_all_granted(struct player *player, struct request *request)
{
    size_t granted = 0;

    for (size_t i = 0; i < REQUESTS; i++) {
        granted += request[i].answers > 0 && is_granted(&request[i]);
        if (request[i].answers > 0 && request[i].req.status == HF_EDOWN)
            player_submit(player, &request[i]);
    }
    return granted == REQUESTS;
}

/* All waiting requests were sent for the dead session.  A place that is granted in the
 * next session must not be forgotten: nobody else would get it before the lease ends. */
static void a_session_with_many_requests_is_lost_once(void **state)
{
    static const char *const names[REQUESTS] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    static struct player     player;
    static struct request    first, request[REQUESTS];
    hf_time                  end = hf_now() + (LONG_MS - 1000) * HF_MS;

    (void)state;
    promise_use(server_url("ttl=15s"));
    player_open(&player);
    enter(&player, "first", MUTEX, &first);
    server_tell("sql TRUNCATE holdfast.session, holdfast.line, holdfast.place, "
                "holdfast.bias");
    for (size_t i = 0; i < REQUESTS; i++) {
        request[i].req = (struct hf_req){
            .op = HF_ENTER, .name = names[i], .id = ++player.ids, .shape = MUTEX
        };
        player_submit(&player, &request[i]);
    }
    while (!are_all_granted(&player, request)) {
        assert_true(hf_now() < end);
        player_turn(&player, 100);
    }
    assert_int_equal(player.lost, 1);
    for (size_t i = 0; i < REQUESTS; i++)
        assert_int_equal(leave(&player, names[i], request[i].req.id), 0);
    player_close(&player);
    server_expect_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_sessions_expire_together),
        cmocka_unit_test(a_waiter_with_a_short_ttl_outlives_a_long_lease),
        cmocka_unit_test(a_session_with_many_requests_is_lost_once),
    };

    server_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
