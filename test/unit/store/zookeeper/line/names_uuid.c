/* names_uuid.c - the ids in the names of our nodes. */
/* one thread */
#include "base/random.h"
#include "store/zookeeper/line/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The id of a text, and the part of it that names the client. */
static uint64_t uuid_read(const char *text, const uint64_t salt[2], uint64_t *client)
{
    unsigned long long a, b, c, d, e;
    int                end = 0;

    assert_int_equal(sscanf(text, "%8llx-%4llx-8%3llx-%4llx-%12llx%n", &a, &b, &c, &d, &e,
                            &end),
                     5);
    assert_int_equal(end, HF_ZK_UUID);
    assert_int_equal(d >> 14, 2); /* the variant */
    *client = (d & 0x3ff) << 48 | e;
    return (a << 32 | b << 16 | c << 4 | (d >> 10 & 0xf)) - salt[0];
}

static void test_an_id_can_be_read_back(void **state)
{
    static const uint64_t plain[2] = { 0, 0 };
    uint64_t              random = 1, client;
    char                  text[HF_ZK_UUID + 1];

    (void)state;
    hf_zk_uuid(plain, 0, text);
    assert_string_equal(text, "00000000-0000-8000-8000-000000000000");
    hf_zk_uuid(plain, UINT64_MAX, text);
    assert_string_equal(text, "ffffffff-ffff-8fff-bc00-000000000000");
    hf_zk_uuid((uint64_t[]){ 0, UINT64_MAX }, 0x0123456789abcdef, text);
    assert_string_equal(text, "01234567-89ab-8cde-bfff-ffffffffffff");

    for (uint64_t i = 0; i < 50000; i++) {
        uint64_t salt[2] = { hf_random_next(&random), hf_random_next(&random) };
        uint64_t id = i % 2 ? i : hf_random_next(&random);
        hf_zk_uuid(salt, id, text);
        assert_int_equal(strspn(text, "0123456789abcdef-"), HF_ZK_UUID);
        assert_true(uuid_read(text, salt, &client) == id);
        assert_true(client == (salt[1] & 0x3ffffffffffffff));
    }
}

static void test_ids_of_this_client_and_of_others(void **state)
{
    static const char *const ours[] = {
        "_c_01234567-89ab-8cde-bfff-ffffffffffff-lock-0000000001",
        "0123456789ab8cdebfffffffffffffff__lock__0000000001",
        "claim",
    };
    static const char *const others[] = {
        "_c_01234567-89ab-4cde-bfff-ffffffffffff-lock-0000000001",
        "0123456789ab4cdebfffffffffffffff__lock__0000000001",
        "x-1-0000000008",
        "_c_",
        "",
    };

    (void)state;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        assert_true(hf_zk_child_is_holdfast(ours[i], strlen(ours[i])));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(hf_zk_child_is_holdfast(others[i], strlen(others[i])));
}

static void test_places_of_another_layout_block(void **state)
{
    static const char *const kinds[] = { "sem2-5-2-", "claim2-", "-", "anything" };

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char               name[HF_ZK_CHILD_MAX];
        struct hf_zk_child child;
        snprintf(name, sizeof name,
                 "_c_01234567-89ab-8cde-bfff-ffffffffffff-%s0000000001", kinds[i]);
        hf_zk_child_parse(name, strlen(name), &child);
        assert_int_equal(child.style, HF_ZK_NATIVE);
        assert_int_equal(child.number, 1);
        assert_true(hf_shape_invalid(&child.shape));
        assert_true(hf_zk_child_claims(&child));
        name[3 + 14] = '4'; /* another program made it */
        hf_zk_child_parse(name, strlen(name), &child);
        assert_int_equal(child.style, HF_ZK_FOREIGN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_id_can_be_read_back),
        cmocka_unit_test(test_ids_of_this_client_and_of_others),
        cmocka_unit_test(test_places_of_another_layout_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
