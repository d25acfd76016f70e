/* names.c - names of the nodes of a lock.  An argument is a seed. */
/* one thread */
#include "store/zookeeper/line/names.h"

#include "base/name.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define UUID "f3a1c2d4-0b1e-4c5d-8e9f-001122334455"
#define OURS "f3a1c2d4-0b1e-8c5d-8e9f-001122334455" /* of the version of our ids */
#define BARE "f3a1c2d40b1e4c5d8e9f001122334455"

static uint64_t seed = 1;

static const struct hf_shape none = { 0 };
static const struct hf_shape mutex = { .weight = 1, .capacity = 1 };
static const struct hf_shape reader = { .weight = 1, .capacity = HF_ALL };
static const struct hf_shape writer = { .weight = HF_ALL, .capacity = HF_ALL };
static const struct hf_shape claim = { .weight = 1, .capacity = 1, .claim = true };

static void assert_child(const char *name, enum hf_zk_style style,
                         const struct hf_shape *shape, int64_t number)
{
    size_t             size = strlen(name);
    struct hf_zk_child child;
    char              *exact = malloc(size > 0 ? size : 1); /* without a NUL */

    assert_non_null(exact);
    memcpy(exact, name, size);
    hf_zk_child_parse(exact, size, &child);
    free(exact);
    if (child.style != style || child.shape.weight != shape->weight ||
        child.shape.capacity != shape->capacity || child.shape.claim != shape->claim ||
        child.number != number)
        fail_msg("%s: style %d, weight %u, capacity %u, number %lld", name, child.style,
                 child.shape.weight, child.shape.capacity, (long long)child.number);
}

/* ---- Children of others -------------------------------------------------------- */

static void test_places_of_every_client(void **state)
{
    static const struct {
        const char            *name;
        enum hf_zk_style       style;
        const struct hf_shape *shape;
        int64_t                number;
    } rows[] = {
        { "_c_" UUID "-lock-0000000007", HF_ZK_CURATOR, &mutex, 7 },
        { "_c_" BARE "-lock-0000000000", HF_ZK_CURATOR, &mutex, 0 }, /* go-zk */
        { "lock-2147483647", HF_ZK_CURATOR, &mutex, INT32_MAX },
        { "my-block-0000000012", HF_ZK_CURATOR, &mutex, 12 }, /* its key is 12, too */
        { "lock-lock-0000000012", HF_ZK_CURATOR, &mutex, 12 },
        { "_c_" UUID "-latch-0000000003", HF_ZK_CURATOR, &mutex, 3 },
        { "_c_" UUID "-__READ__0000000004", HF_ZK_CURATOR, &reader, 4 },
        { "_c_" UUID "-__WRIT__0000000005", HF_ZK_CURATOR, &writer, 5 },
        { BARE "__lock__0000000006", HF_ZK_KAZOO, &mutex, 6 },
        { BARE "__rlock__0000000007", HF_ZK_KAZOO, &reader, 7 },
        { BARE "-lock-0000000008", HF_ZK_CURATOR, &mutex, 8 }, /* kazoo, told to */
        { "x-72057594037927936-0000000009", HF_ZK_RECIPE, &mutex, 9 },
        { "x--72057594037927936-0000000009", HF_ZK_RECIPE, &mutex, 9 },
        { "x-0f00000123456789-0000000010", HF_ZK_RECIPE, &mutex, 10 },
        /* The counter has overflowed. */
        { "_c_" UUID "-lock--2147483648", HF_ZK_CURATOR, &mutex, INT32_MIN },
        { "_c_" UUID "-lock--2147483647", HF_ZK_CURATOR, &mutex, -2147483647 },
        { "_c_" UUID "-lock--1000000000", HF_ZK_CURATOR, &mutex, -1000000000 },
        { "_c_" UUID "-lock--999999999", HF_ZK_CURATOR, &mutex, -999999999 },
        { "_c_" UUID "-lock--000000001", HF_ZK_CURATOR, &mutex, -1 },
        { "_c_" UUID "-lock--0000000001", HF_ZK_CURATOR, &mutex, -1 },
        { "_c_" UUID "-latch--000000001", HF_ZK_CURATOR, &mutex, -1 },
        { "_c_" UUID "-__READ__-2147483648", HF_ZK_CURATOR, &reader, INT32_MIN },
        { "_c_" UUID "-__WRIT__-000000004", HF_ZK_CURATOR, &writer, -4 },
        { BARE "__lock__-2147483640", HF_ZK_KAZOO, &mutex, -2147483640 },
        { BARE "__rlock__-2147483640", HF_ZK_KAZOO, &reader, -2147483640 },
        { "x-12--2147483648", HF_ZK_RECIPE, &mutex, INT32_MIN },
        { "x--12--2147483648", HF_ZK_RECIPE, &mutex, INT32_MIN },
        { "x--12--000000005", HF_ZK_RECIPE, &mutex, -5 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_child(rows[i].name, rows[i].style, rows[i].shape, rows[i].number);
}

static void test_semaphores_claims_and_slots(void **state)
{
    static const struct {
        const char *name;
        uint32_t    capacity, weight;
        int64_t     number;
    } rows[] = {
        { "_c_" UUID "-sem-5-2-0000000007", 5, 2, 7 },
        { "_c_" UUID "-sem-2-1-2147483647", 2, 1, INT32_MAX },
        { "_c_" UUID "-sem-5-5-0000000007", 5, 5, 7 },
        { "_c_" UUID "-sem-1000000000-999999999-0000000007", 1000000000, 999999999, 7 },
        { "_c_" UUID "-sem-4294967294-1-0000000007", HF_ALL - 1, 1, 7 },
        { "_c_" UUID "-sem-5-2--2147483648", 5, 2, INT32_MIN },
        { "_c_" UUID "-sem-5-2--000000009", 5, 2, -9 },
        { "_c_" OURS "-sem-5-2--2147483647", 5, 2, -INT32_MAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_child(rows[i].name, HF_ZK_NATIVE,
                     &(struct hf_shape){ .weight = rows[i].weight,
                                         .capacity = rows[i].capacity },
                     rows[i].number);
    assert_child("_c_" UUID "-claim-0000000007", HF_ZK_NATIVE, &claim, 7);
    assert_child("_c_" UUID "-claim--000000009", HF_ZK_NATIVE, &claim, -9);
    assert_child("claim", HF_ZK_CLAIM, &claim, 0);
    assert_child("slot-0", HF_ZK_SLOT, &none, 0);
    assert_child("slot-3", HF_ZK_SLOT, &none, 3);
    assert_child("slot-1000000000", HF_ZK_SLOT, &none, 1000000000);
    assert_child("slot-4294967293", HF_ZK_SLOT, &none, HF_ALL - 2);
}

static void test_the_order_of_places(void **state)
{
    static const char *const names[] = {
        "claim",
        "_c_" UUID "-claim-0000000000",
        "a-lock-0000000001",
        BARE "__lock__2147483647",
        "a-lock--2147483648",
        "a-lock--000000001",
    };
    struct hf_zk_child child;
    uint64_t           last = 0;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hf_zk_child_parse(names[i], strlen(names[i]), &child);
        assert_true(hf_zk_child_seq(&child) > last);
        last = hf_zk_child_seq(&child);
    }
}

static const char *const foreign[] = {
    "",
    "0",
    "-",
    "x-",
    "config",
    "!x",
    "0000000001",
    "-0000000001",
    "locks",
    "leases",
    "lock-",
    "lock",
    "lock0000000001",
    "LOCK-0000000001",
    "lock-1",
    "lock-000000001",   /* nine digits */
    "lock-00000000001", /* eleven */
    "lock-2147483648",  /* more than 32 bits */
    "lock-9999999999",
    "lock--2147483649",
    "lock--00000000001",
    "lock--00000001",
    "lock---0000000001",
    "lock-+000000001",
    "lock-0000000001 ",
    "lock-000000000a",
    "lock-0000000001\n",
    "lock-\xd9\xa1\xd9\xa2\xd9\xa3\xd9\xa4\xd9\xa5", /* Arabic digits */
    "_c_" UUID "-lease-0000000001",                  /* Curator's semaphore */
    BARE,                                            /* kazoo's semaphore */
    "_c_" UUID "-__read__0000000001",
    "_c_" UUID "-READ__0000000001",
    "_c_" UUID "-__READ__000000001",
    BARE "__lock_0000000001",
    BARE "_rlock__0000000001",
    BARE "__wlock__0000000001",
    "x-0000000001",
    "x--0000000001",
    "x---0000000001",
    "x-1-2-0000000001",
    "x---1-0000000001",
    "y-1-0000000001",
    "xx-1-0000000001",
    "_c_" UUID "-sem-0000000001",
    "_c_" UUID "-sem-5-0000000001",
    "_c_" UUID "-sem-5--2-0000000001",
    "_c_" UUID "-sem--5-2-0000000001",
    "_c_" UUID "-sem-5-2-000000001",
    "_c_" UUID "_sem-5-2-0000000001",
    "_c_" UUID "-sem-5-2-x0000000001",
    "claim ",
    "clai",
    "Claim",
    "claim0000000001",
    "claim-0000000001",
    "slot-",
    "slot-03",
    "slot-00",
    "slot--3",
    "slot-3a",
    "slot-0000000001",
    "slot-4294967295",
    "slot-10000000000",
    "a-slot-3",
};

static void test_all_other_names_are_foreign(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        assert_child(foreign[i], HF_ZK_FOREIGN, &none, 0);

    struct hf_zk_child child;
    hf_zk_child_parse("lock-00000\0"
                      "0001",
                      15, &child);
    assert_int_equal(child.style, HF_ZK_FOREIGN);
}

/* Only our places have such names. */
static void test_impossible_semaphores_are_invalid_places(void **state)
{
    static const char *const numbers[] = {
        "5-0",
        "5-6",
        "1-1" /* the name of a mutex */,
        "0-0",
        "05-2",
        "5-02",
        "4294967295-1",
        "4294967297-1",
        "18446744073709551618-1",
        "5-18446744073709551618",
    };

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char               name[HF_ZK_CHILD_MAX];
        struct hf_zk_child child;
        snprintf(name, sizeof name, "_c_" UUID "-sem-%s-0000000001", numbers[i]);
        hf_zk_child_parse(name, strlen(name), &child);
        assert_int_equal(child.style, HF_ZK_NATIVE);
        assert_int_equal(child.number, 1);
        assert_true(hf_shape_invalid(&child.shape));
    }
}

/* ---- Children of ours ---------------------------------------------------------- */

static void test_our_names(void **state)
{
    const struct hf_shape semaphore = { .weight = 2, .capacity = 5 };
    const struct hf_shape largest = { .weight = HF_ALL - 1, .capacity = HF_ALL - 1 };
    const struct {
        enum hf_zk_style       style;
        const struct hf_shape *shape;
        int64_t                number;
        const char            *prefix, *name;
    } rows[] = {
        { HF_ZK_CURATOR, &mutex, 7, "_c_" UUID "-lock-", "_c_" UUID "-lock-0000000007" },
        { HF_ZK_CURATOR, &reader, 0, "_c_" UUID "-__READ__",
          "_c_" UUID "-__READ__0000000000" },
        { HF_ZK_CURATOR, &writer, INT32_MAX, "_c_" UUID "-__WRIT__",
          "_c_" UUID "-__WRIT__2147483647" },
        { HF_ZK_CURATOR, &semaphore, 7, "_c_" UUID "-sem-5-2-",
          "_c_" UUID "-sem-5-2-0000000007" },
        { HF_ZK_CURATOR, &claim, 7, "_c_" UUID "-claim-",
          "_c_" UUID "-claim-0000000007" },
        { HF_ZK_KAZOO, &mutex, 7, BARE "__lock__", BARE "__lock__0000000007" },
        { HF_ZK_KAZOO, &reader, 7, BARE "__rlock__", BARE "__rlock__0000000007" },
        { HF_ZK_KAZOO, &writer, 7, BARE "__lock__", BARE "__lock__0000000007" },
        { HF_ZK_KAZOO, &semaphore, 7, "_c_" UUID "-sem-5-2-",
          "_c_" UUID "-sem-5-2-0000000007" },
        { HF_ZK_KAZOO, &claim, 7, "_c_" UUID "-claim-", "_c_" UUID "-claim-0000000007" },
        /* As the server writes negative numbers: the minus is one of ten characters. */
        { HF_ZK_CURATOR, &mutex, -5, "_c_" UUID "-lock-", "_c_" UUID "-lock--000000005" },
        { HF_ZK_KAZOO, &mutex, INT32_MIN, BARE "__lock__", BARE "__lock__-2147483648" },
        { HF_ZK_CURATOR, &largest, INT32_MIN, "_c_" UUID "-sem-4294967294-4294967294-",
          "_c_" UUID "-sem-4294967294-4294967294--2147483648" },
    };
    char text[HF_ZK_CHILD_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hf_zk_child_prefix(rows[i].style, rows[i].shape, UUID, text);
        assert_string_equal(text, rows[i].prefix);
        hf_zk_child_name(rows[i].style, rows[i].shape, UUID, 0, rows[i].number, text);
        assert_string_equal(text, rows[i].name);
    }
}

static struct hf_shape any_shape(uint64_t *random)
{
    uint32_t capacity =
        (uint32_t)(hf_random_next(random) >> (32 + hf_random_next(random) % 31));

    switch (hf_random_next(random) % 5) {
    case 0:
        return mutex;
    case 1:
        return reader;
    case 2:
        return writer;
    case 3:
        return claim;
    default:
        capacity = capacity < 2 ? 2 : capacity == HF_ALL ? HF_ALL - 1 : capacity;
        return (struct hf_shape){
            .capacity = capacity,
            .weight = 1 + (uint32_t)(hf_random_next(random) % capacity),
        };
    }
}

static void test_names_are_read_as_written(void **state)
{
    uint64_t random = seed;
    char     uuid[HF_ZK_UUID + 1], name[HF_ZK_CHILD_MAX];

    (void)state;
    for (int i = 0; i < 50000; i++) {
        uint64_t         salt[2] = { hf_random_next(&random), hf_random_next(&random) };
        struct hf_shape  shape = any_shape(&random);
        bool             kazoo = hf_random_next(&random) % 2;
        enum hf_zk_style style = kazoo ? HF_ZK_KAZOO : HF_ZK_CURATOR;
        int64_t          number = (int32_t)(hf_random_next(&random) >> 32);
        hf_zk_uuid(salt, hf_random_next(&random), uuid);
        uint64_t token = hf_random_next(&random) >> i % 65 % 64;
        hf_zk_child_name(style, &shape, uuid, i % 2 ? token : 0, number, name);
        assert_true(hf_zk_child_is(name, strlen(name), uuid));
        assert_true(hf_zk_child_token(name, strlen(name)) == (i % 2 ? token : 0));
        if (hf_shape_has_slots(&shape) || shape.claim)
            style = HF_ZK_NATIVE;
        if (style == HF_ZK_KAZOO && shape.weight == HF_ALL)
            shape = mutex; /* kazoo's writer is its mutex */
        assert_child(name, style, &shape, number);
    }
}

/* ---- Ids ----------------------------------------------------------------------- */

static void test_nodes_of_this_client_and_of_others(void **state)
{
    static const struct {
        const char *name;
        bool        ours;
    } rows[] = {
        { "_c_" UUID "-lock-0000000007", true },
        { "_c_" UUID "-__READ__0000000007", true },
        { "_c_" UUID "-sem-5-2-0000000007", true },
        { BARE "__lock__0000000007", true },
        { BARE "__rlock__0000000007", true },
        { "_c_" UUID, false },
        { "_c_" UUID "x", false },
        { UUID "-lock-0000000007", false },
        { "x_c_" UUID "-lock-0000000007", false },
        { "_c_f3a1c2d4-0b1e-4c5d-8e9f-001122334456-lock-0000000007", false },
        { "f3a1c2d40b1e4c5d8e9f001122334456__lock__0000000007", false },
        { BARE, false },
        { BARE "_", false },
        { BARE "-lock-0000000007", false },
        { "", false },
        { "claim", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (hf_zk_child_is(rows[i].name, strlen(rows[i].name), UUID) != rows[i].ours)
            fail_msg("%s", rows[i].name);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places_of_every_client),
        cmocka_unit_test(test_semaphores_claims_and_slots),
        cmocka_unit_test(test_the_order_of_places),
        cmocka_unit_test(test_all_other_names_are_foreign),
        cmocka_unit_test(test_impossible_semaphores_are_invalid_places),
        cmocka_unit_test(test_our_names),
        cmocka_unit_test(test_names_are_read_as_written),
        cmocka_unit_test(test_nodes_of_this_client_and_of_others),
    };

    if (argc > 1)
        seed = strtoull(argv[1], NULL, 0);
    print_message("# seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
