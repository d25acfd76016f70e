/* many_dead.c - hundreds of holders die together: a waiter waits for one lease only.  And
 * one session with many requests dies once.
 *
 * HF_DEAD says how many holders (300).
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/witness.h"

#include <stdlib.h>

#define VERSION  "(SELECT version FROM holdfast.head)"
#define TTL_MS   2000
#define LONG_MS  15000 /* a lease, */
#define SHORT_MS 500   /* and who waits for it */
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
    witness_tell("sql SELECT count(*) FROM generate_series(1, %d) i, LATERAL "
                 "holdfast.hello(" VERSION ", lpad(to_hex(i), 16, '0'), 1, %d, true, '')",
                 count, TTL_MS);
    witness_tell("sql SELECT count(*) FROM generate_series(1, %d) i, LATERAL "
                 "holdfast.enter(lpad(to_hex(i), 16, '0'), 1, 1, 'crowd', 1, 4294967295, "
                 "false, false, 0, '', '')",
                 count);
}

static void they_are_buried_together(void **state)
{
    static struct actor writer;
    int                 count = getenv("HF_DEAD") != NULL ? atoi(getenv("HF_DEAD")) : 300;

    (void)state;
    make_schema();
    hold_and_die(count);
    actor_open(&writer, TTL_MS, "unused");
    hf_lock_free(writer.lock);
    assert_int_equal(hf_writer(writer.client, "crowd", &writer.lock), 0);
    assert_int_equal(witness_holders("crowd"), count);
    hf_time start = hf_now();
    assert_int_equal(hf_acquire(writer.lock, 60000), 0);
    int ms = (int)((hf_now() - start) / HF_MS);
    print_message("# %d were dead, and the next waited for %d ms\n", count, ms);
    assert_true(ms < 3 * TTL_MS);
    assert_int_equal(witness_holders("crowd"), 1);
    actor_give(&writer);
    actor_close(&writer);
    witness_empty();
}

/* He draws a number every sixth of a second, and needs one that is 15 s old. */
static void a_long_lease_ends_for_one_with_a_short(void **state)
{
    static struct actor waiter;

    (void)state;
    make_schema();
    witness_tell("sql SELECT code FROM holdfast.hello(" VERSION
                 ", '00000000000000aa', 1, %d, true, '')",
                 LONG_MS);
    witness_tell(
        "sql SELECT code FROM holdfast.enter('00000000000000aa', 1, 1, 'long', 1, 1, "
        "false, false, 0, '', '')");
    actor_open(&waiter, SHORT_MS, "long");
    hf_time start = hf_now();
    assert_int_equal(hf_acquire(waiter.lock, 2 * LONG_MS), 0);
    print_message("# it waited for %d ms\n", (int)((hf_now() - start) / HF_MS));
    assert_true(hf_now() - start >= LONG_MS * HF_MS);
    actor_give(&waiter);
    actor_close(&waiter);
    witness_empty();
}

static bool are_all_granted(struct player *player, struct ask *ask)
{
    size_t granted = 0;

    for (size_t i = 0; i < REQUESTS; i++) {
        granted += ask[i].answers > 0 && is_granted(&ask[i]);
        if (ask[i].answers > 0 && ask[i].req.status == HF_EDOWN)
            player_submit(player, &ask[i]);
    }
    return granted == REQUESTS;
}

/* All that waited was sent for the dead session.  Nothing of what is granted in the next one
 * is forgotten over it: nobody else would get it before the lease ends. */
static void a_session_is_lost_once(void **state)
{
    static const char *const names[REQUESTS] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    static struct player     player;
    static struct ask        first, ask[REQUESTS];
    hf_time                  end = hf_now() + (LONG_MS - 1000) * HF_MS;

    (void)state;
    promise_use(witness_url("ttl=15s"));
    player_open(&player);
    enter(&player, "first", MUTEX, &first);
    witness_tell("sql TRUNCATE holdfast.session, holdfast.line, holdfast.ticket");
    for (size_t i = 0; i < REQUESTS; i++) {
        ask[i].req = (struct hf_req){
            .op = HF_ENTER, .name = names[i], .id = ++player.ids, .shape = MUTEX
        };
        player_submit(&player, &ask[i]);
    }
    while (!are_all_granted(&player, ask)) {
        assert_true(hf_now() < end);
        player_turn(&player, 100);
    }
    assert_int_equal(player.lost, 1);
    for (size_t i = 0; i < REQUESTS; i++)
        assert_int_equal(leave(&player, names[i], ask[i].req.id), 0);
    player_close(&player);
    witness_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_buried_together),
        cmocka_unit_test(a_long_lease_ends_for_one_with_a_short),
        cmocka_unit_test(a_session_is_lost_once),
    };

    witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
