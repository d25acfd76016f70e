/* session_key.c - end a session by its key: without a schema, with a schema that we do
 * not trust, with one of another version, and while clients poll. */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/server_postgres.h"
#include "lib/session_keys.h"

#include <stdlib.h>
#include <string.h>

#define TTL_MS 10000

/* A key of a session that never existed. */
static void make_up(struct session_key *ret, const char *own, size_t size)
{
    promise_use(server_url(""));
    session_key_pack(ret, (const uint8_t *)own, size);
}

static long schemas(void)
{
    return postgres_number(
        "SELECT count(*) FROM pg_namespace WHERE nspname = 'holdfast'");
}

/* It makes no schema either. */
static void without_a_schema_there_is_nothing_to_end(void **state)
{
    struct session_key key, admin;

    (void)state;
    make_up(&key, "0123456789abcdef", 16);
    session_key_end(&key);
    session_key_move(&key, getenv("HF_PG_ADMIN"), &admin);
    session_key_end(&admin);
    assert_int_equal(schemas(), 0);
}

static void an_invalid_session_id_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "0123456789abcde",
        "0123456789abcdef0",
        "0123456789abcdeF",
        "0123456789abcde'",
        "0123456789abcde\n",
    };
    struct session_key key;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        make_up(&key, texts[i], strlen(texts[i]));
        session_key_refused(&key, HF_EINVAL);
    }
    make_up(&key, "0123456\00089abcdef", 16);
    session_key_refused(&key, HF_EINVAL);
}

/* Calling a function means trusting its owner. */
static void a_superuser_does_not_use_the_schema_of_another_role(void **state)
{
    static struct actor owner;
    struct session_key  key, admin;

    (void)state;
    actor_open(&owner, TTL_MS, "trusted");
    actor_take(&owner);
    session_key_take(owner.client, &key);
    session_key_move(&key, getenv("HF_PG_ADMIN"), &admin);
    assert_int_equal(hf_end_session(admin.bytes, admin.size, 0, NULL, 0), HF_EDENIED);
    assert_int_equal(hf_check(owner.lock, ACTOR_LIMIT_MS), 0);
    actor_give(&owner);
    actor_close(&owner);
    server_expect_empty();
}

/* Another version may end sessions in another way, and may contain this session. */
static void a_schema_of_another_version_is_refused(void **state)
{
    static struct actor owner;
    struct session_key  key;
    char                error[HF_ERRMSG_MAX] = "";

    (void)state;
    actor_open(&owner, TTL_MS, "version");
    actor_take(&owner);
    session_key_take(owner.client, &key);
    server_tell("sql ALTER FUNCTION holdfast.bye RENAME TO farewell");
    int r = hf_end_session(key.bytes, key.size, ACTOR_LIMIT_MS, error, sizeof error);
    server_tell("sql ALTER FUNCTION holdfast.farewell RENAME TO bye");
    assert_int_equal(r, HF_EUNSUPPORTED);
    assert_non_null(strstr(error, "version"));
    assert_int_equal(hf_check(owner.lock, ACTOR_LIMIT_MS), 0);
    actor_give(&owner);
    actor_close(&owner);
    server_expect_empty();
}

static void it_works_with_polling(void **state)
{
    static struct actor owner, next;
    struct session_key  key;

    (void)state;
    actor_open_url(&owner, server_url("polling=yes&ttl=10s"), "polling");
    actor_open_url(&next, server_url("polling=yes&ttl=10s"), "polling");
    actor_take(&owner);
    actor_queue(&next, 1);
    session_key_take(owner.client, &key);
    session_key_end(&key);
    actor_await(&next, HF_HELD);
    assert_int_equal(hf_check(owner.lock, ACTOR_LIMIT_MS), HF_ELOST);
    actor_give(&next);
    actor_close(&owner);
    actor_close(&next);
    server_expect_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            without_a_schema_there_is_nothing_to_end), /* first: the others make a schema */
        cmocka_unit_test(an_invalid_session_id_is_refused),
        cmocka_unit_test(a_superuser_does_not_use_the_schema_of_another_role),
        cmocka_unit_test(a_schema_of_another_version_is_refused),
        cmocka_unit_test(it_works_with_polling),
    };

    server_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
