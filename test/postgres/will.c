/* will.c - a session is ended by its will: where there is no schema, where it is not ours to
 * trust, where it is another version's, and by polling. */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/testament.h"
#include "lib/witness_postgres.h"

#include <stdlib.h>
#include <string.h>

#define TTL_MS 10000

/* Of a session that there never was. */
static void make_up(struct testament *ret, const char *own, size_t size)
{
    promise_use(witness_url(""));
    testament_pack(ret, (const uint8_t *)own, size);
}

static long schemas(void)
{
    return postgres_number(
        "SELECT count(*) FROM pg_namespace WHERE nspname = 'holdfast'");
}

/* Nor is it made: there is no such session. */
static void where_there_is_no_schema(void **state)
{
    struct testament will, admin;

    (void)state;
    make_up(&will, "0123456789abcdef", 16);
    testament_execute(&will);
    testament_move(&will, getenv("HF_PG_ADMIN"), &admin);
    testament_execute(&admin);
    assert_int_equal(schemas(), 0);
}

static void what_is_no_sid(void **state)
{
    static const char *const texts[] = {
        "",
        "0123456789abcde",
        "0123456789abcdef0",
        "0123456789abcdeF",
        "0123456789abcde'",
        "0123456789abcde\n",
    };
    struct testament will;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        make_up(&will, texts[i], strlen(texts[i]));
        testament_refused(&will, HF_EINVAL);
    }
    make_up(&will, "0123456\00089abcdef", 16);
    testament_refused(&will, HF_EINVAL);
}

/* To call somebody's function is to trust him. */
static void a_superuser_trusts_nobody(void **state)
{
    static struct actor owner;
    struct testament    will, admin;

    (void)state;
    actor_open(&owner, TTL_MS, "trusted");
    actor_take(&owner);
    testament_take(owner.client, &will);
    testament_move(&will, getenv("HF_PG_ADMIN"), &admin);
    assert_int_equal(hf_execute(admin.bytes, admin.size, 0, NULL, 0), HF_EDENIED);
    assert_int_equal(hf_check(owner.lock, ACTOR_LIMIT_MS), 0);
    actor_give(&owner);
    actor_close(&owner);
    witness_empty();
}

/* Another version may end sessions in another way, and ours is there, for all we know. */
static void another_version_is_left_alone(void **state)
{
    static struct actor owner;
    struct testament    will;
    char                error[HF_ERRMSG_MAX] = "";

    (void)state;
    actor_open(&owner, TTL_MS, "version");
    actor_take(&owner);
    testament_take(owner.client, &will);
    witness_tell("sql ALTER FUNCTION holdfast.bye RENAME TO farewell");
    int r = hf_execute(will.bytes, will.size, ACTOR_LIMIT_MS, error, sizeof error);
    witness_tell("sql ALTER FUNCTION holdfast.farewell RENAME TO bye");
    assert_int_equal(r, HF_EUNSUPPORTED);
    assert_non_null(strstr(error, "version"));
    assert_int_equal(hf_check(owner.lock, ACTOR_LIMIT_MS), 0);
    actor_give(&owner);
    actor_close(&owner);
    witness_empty();
}

static void by_polling(void **state)
{
    static struct actor owner, next;
    struct testament    will;

    (void)state;
    actor_open_url(&owner, witness_url("polling=yes&ttl=10s"), "polling");
    actor_open_url(&next, witness_url("polling=yes&ttl=10s"), "polling");
    actor_take(&owner);
    actor_queue(&next, 1);
    testament_take(owner.client, &will);
    testament_execute(&will);
    actor_await(&next, HF_HELD);
    assert_int_equal(hf_check(owner.lock, ACTOR_LIMIT_MS), HF_ELOST);
    actor_give(&next);
    actor_close(&owner);
    actor_close(&next);
    witness_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_there_is_no_schema), /* first: others make it */
        cmocka_unit_test(what_is_no_sid),
        cmocka_unit_test(a_superuser_trusts_nobody),
        cmocka_unit_test(another_version_is_left_alone),
        cmocka_unit_test(by_polling),
    };

    witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
