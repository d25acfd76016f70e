/* will.c - a session is ended by its will: where there is no schema, where it is not ours to
 * trust, and by polling. */
/* needs: standalone */
#include "client/will.h"
#include "lib/promise.h"
#include "lib/witness_postgres.h"

#include <stdlib.h>
#include <string.h>

#define TTL_MS 10000

static const char sid[] = "0123456789abcdef";

static int execute_at(const char *url, const void *own, size_t size, char *error)
{
    struct hf_will will = { .url = url,
                            .url_size = strlen(url),
                            .ttl_ms = TTL_MS,
                            .own = own,
                            .own_size = size };
    uint8_t        bytes[1024];

    size = hf_will_write(&will, bytes, sizeof bytes);
    assert_true(size <= sizeof bytes);
    return hf_execute(bytes, size, ACTOR_LIMIT_MS, error, HF_ERRMSG_MAX);
}

static long schemas(void)
{
    return postgres_number(
        "SELECT count(*) FROM pg_namespace WHERE nspname = 'holdfast'");
}

/* Nor is it made: there is no such session. */
static void where_there_is_no_schema(void **state)
{
    char error[HF_ERRMSG_MAX] = "";

    (void)state;
    assert_int_equal(execute_at(witness_url(""), sid, strlen(sid), error), 0);
    assert_int_equal(execute_at(getenv("HF_PG_ADMIN"), sid, strlen(sid), error), 0);
    assert_int_equal(schemas(), 0);
}

static void what_is_no_sid(void **state)
{
    static const char *const texts[] = { "",
                                         "0123456789abcde",
                                         "0123456789abcdef0",
                                         "0123456789abcdeF",
                                         "0123456789abcde'",
                                         "0123456789abcde\n" };
    char                     error[HF_ERRMSG_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        error[0] = '\0';
        assert_int_equal(execute_at(witness_url(""), texts[i], strlen(texts[i]), error),
                         HF_EINVAL);
        assert_non_null(strstr(error, "names no session"));
    }
    assert_int_equal(execute_at(witness_url(""), "0123456\00089abcdef", 16, error),
                     HF_EINVAL);
}

/* To call somebody's function is to trust him. */
static void a_superuser_trusts_nobody(void **state)
{
    static struct actor owner;
    uint8_t             bytes[1024];
    struct hf_will      will;
    char                error[HF_ERRMSG_MAX] = "";

    (void)state;
    actor_open(&owner, TTL_MS, "trusted");
    actor_take(&owner);
    int size = hf_will(owner.client, bytes, sizeof bytes);
    assert_true(size > 0 && (size_t)size <= sizeof bytes);
    assert_int_equal(hf_will_read(bytes, (size_t)size, &will, error), 0);
    assert_int_equal(execute_at(getenv("HF_PG_ADMIN"), will.own, will.own_size, error),
                     HF_EDENIED);
    assert_non_null(strstr(error, "we are a superuser"));
    assert_int_equal(hf_check(owner.lock, ACTOR_LIMIT_MS), 0);
    actor_give(&owner);
    actor_close(&owner);
    witness_empty();
}

static void by_polling(void **state)
{
    static struct actor owner, next;
    uint8_t             bytes[1024];

    (void)state;
    actor_open_url(&owner, witness_url("polling=yes&ttl=10s"), "polling");
    actor_open_url(&next, witness_url("polling=yes&ttl=10s"), "polling");
    actor_take(&owner);
    actor_queue(&next, 1);
    int size = hf_will(owner.client, bytes, sizeof bytes);
    assert_true(size > 0 && (size_t)size <= sizeof bytes);
    assert_int_equal(hf_execute(bytes, (size_t)size, ACTOR_LIMIT_MS, NULL, 0), 0);
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
        cmocka_unit_test(by_polling),
    };

    witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
