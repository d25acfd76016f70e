/* denied_release.c - the folder of a lock loses the right to delete while the lock is held.
 * The release says so at once, and is carried out when the right is back.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/clients.h"
#include "lib/fixture.h"
#include "lib/witness.h"

#include <string.h>

enum { READ = 1, WRITE = 2, DELETE = 8, ADMIN = 16, ALL = 31 };

static void release_without_the_right_to_delete(void **state)
{
    struct actor a, b;

    (void)state;
    actor_open_zk(&a, witness_server(), "denied");
    actor_open_zk(&b, witness_server(), "denied");
    actor_take(&a);
    assert_int_equal(witness_permit_in(&foreign, "/denied", READ | WRITE | ADMIN), 0);

    hf_time began = hf_now();
    assert_int_equal(hf_release(a.lock), HF_EDENIED);
    assert_true(hf_now() - began < HF_SEC); /* the lease lasts longer */
    assert_non_null(strstr(hf_errmsg(a.client), "ZooKeeper does not let"));
    assert_int_equal(hf_state(a.lock), HF_LEAVING);
    assert_int_equal(hf_release(a.lock), HF_ESTATE);

    assert_int_equal(witness_permit_in(&foreign, "/denied", ALL), 0);
    assert_int_equal(hf_acquire(b.lock, ACTOR_LIMIT_MS), 0);
    assert_int_equal(hf_release(b.lock), 0);
    lock_await(a.lock, HF_IDLE);
    assert_int_equal(hf_acquire(a.lock, ACTOR_LIMIT_MS), 0);
    assert_int_equal(hf_release(a.lock), 0);
    actor_close(&a);
    actor_close(&b);
}

/* A place of another kind is refused, but cannot be deleted: its client does not forget it. */
static void refused_place_is_not_forgotten(void **state)
{
    struct player  a, b;
    struct request mine, other;

    (void)state;
    player_connect(&a, witness_server());
    player_connect(&b, witness_server());
    enter(&b, "kinds", MUTEX, &other);
    assert_int_equal(witness_permit_in(&foreign, "/kinds", ALL & ~DELETE), 0);
    mine = (struct request){
        .req = { .op = HF_ENTER, .name = "kinds", .id = ++a.ids, .shape = READER }
    };
    assert_int_equal(player_run(&a, &mine), HF_EDENIED);
    assert_int_equal(witness_count("/kinds"), 2);
    assert_int_equal(witness_permit_in(&foreign, "/kinds", ALL), 0);
    assert_int_equal(leave(&a, "kinds", mine.req.id), 0);
    assert_int_equal(witness_count("/kinds"), 1);
    assert_int_equal(leave(&b, "kinds", other.req.id), 0);
    player_close(&a);
    player_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(release_without_the_right_to_delete),
        cmocka_unit_test(refused_place_is_not_forgotten),
    };

    return cmocka_run_group_tests(tests, start_foreign, stop_foreign);
}
