/* will.c - a will as bytes: whole, or refused. */
/* one thread */
#include "client/will.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define URL "redis://user:secret@host:6379?db=3"

static uint8_t bytes[512];
static size_t  size;

static int write_sample(void **state)
{
    static const uint8_t own[] = { 0, 1, 2, 0xff, 0 };
    struct hf_will       will = { .url = URL,
                                  .url_size = strlen(URL),
                                  .ttl_ms = 15000,
                                  .own = own,
                                  .own_size = sizeof own };

    (void)state;
    size = hf_will_write(&will, bytes, sizeof bytes);
    return size <= sizeof bytes ? 0 : -1;
}

/* From a buffer of just that size, so that a sanitizer sees who reads beyond it. */
static int read_exactly(const uint8_t *from, size_t length, struct hf_will *ret)
{
    char           errmsg[HF_ERRMSG_MAX] = "";
    uint8_t       *copy = test_malloc(length > 0 ? length : 1);
    struct hf_will will = { .ttl_ms = 12345 };

    memcpy(copy, from, length);
    int r = hf_will_read(copy, length, &will, errmsg);
    if (r < 0) {
        assert_int_equal(will.ttl_ms, 12345); /* untouched */
        assert_non_null(strstr(errmsg, "the will "));
    }
    if (ret != NULL)
        *ret = will;
    test_free(copy);
    return r;
}

static void reads_what_was_written(void **state)
{
    struct hf_will will;
    char           errmsg[HF_ERRMSG_MAX] = "";

    (void)state;
    assert_int_equal(hf_will_read(bytes, size, &will, errmsg), 0);
    assert_int_equal(will.url_size, strlen(URL));
    assert_memory_equal(will.url, URL, strlen(URL));
    assert_int_equal(will.ttl_ms, 15000);
    assert_int_equal(will.own_size, 5);
    assert_memory_equal(will.own, "\0\1\2\xff\0", 5);
}

static void writes_nothing_if_there_is_no_room(void **state)
{
    struct hf_will will;
    char           errmsg[HF_ERRMSG_MAX] = "";
    uint8_t        small[512];

    (void)state;
    assert_int_equal(hf_will_read(bytes, size, &will, errmsg), 0);
    memset(small, 'x', sizeof small);
    for (size_t room = 0; room < size; room++) {
        assert_int_equal(hf_will_write(&will, small, room), size);
        assert_int_equal(small[0], 'x');
    }
    assert_int_equal(hf_will_write(&will, small, size), size);
    assert_memory_equal(small, bytes, size);
    assert_int_equal(small[size], 'x');
}

static void every_length_but_the_whole_is_refused(void **state)
{
    (void)state;
    for (size_t length = 0; length < size; length++)
        assert_int_equal(read_exactly(bytes, length, NULL), HF_EINVAL);
    bytes[size] = 0;
    assert_int_equal(read_exactly(bytes, size + 1, NULL), HF_EINVAL);
    assert_int_equal(read_exactly(bytes, size, NULL), 0);
}

static void every_byte_changed_is_refused(void **state)
{
    (void)state;
    for (size_t at = 0; at < size; at++) {
        bool version = at == 6 || at == 7;
        for (int change = 1; change < 256; change++) {
            bytes[at] ^= (uint8_t)change;
            assert_int_equal(read_exactly(bytes, size, NULL),
                             version ? HF_EUNSUPPORTED : HF_EINVAL);
            bytes[at] ^= (uint8_t)change;
        }
    }
    assert_int_equal(read_exactly(bytes, size, NULL), 0);
}

/* Written by somebody who knows how, and wrong all the same. */
static void what_makes_no_sense_is_refused(void **state)
{
    struct hf_will will = { .url = "memory:\0x", .url_size = 9, .own = bytes };

    (void)state;
    size = hf_will_write(&will, bytes, sizeof bytes);
    assert_int_equal(read_exactly(bytes, size, NULL), HF_EINVAL);
    will =
        (struct hf_will){ .url = URL, .url_size = 5, .ttl_ms = UINT32_MAX, .own = bytes };
    size = hf_will_write(&will, bytes, sizeof bytes);
    assert_int_equal(read_exactly(bytes, size, NULL), HF_EINVAL);
    will = (struct hf_will){ .url = "", .own = (const uint8_t *)"x", .own_size = 1 };
    size = hf_will_write(&will, bytes, sizeof bytes); /* that would be $HOLDFAST_URL */
    assert_int_equal(read_exactly(bytes, size, NULL), HF_EINVAL);

    /* Too much of a store's own: the URL's length is changed, and the rest is as much. */
    uint8_t long_own[HF_WILL_MAX] = { 0 };
    will = (struct hf_will){
        .url = URL, .url_size = 5, .own = long_own, .own_size = HF_WILL_MAX
    };
    size = hf_will_write(&will, bytes, sizeof bytes);
    assert_int_equal(read_exactly(bytes, size, NULL), 0);
    assert_int_equal(read_exactly(bytes, size - 1, NULL), HF_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(reads_what_was_written, write_sample),
        cmocka_unit_test_setup(writes_nothing_if_there_is_no_room, write_sample),
        cmocka_unit_test_setup(every_length_but_the_whole_is_refused, write_sample),
        cmocka_unit_test_setup(every_byte_changed_is_refused, write_sample),
        cmocka_unit_test_setup(what_makes_no_sense_is_refused, write_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
