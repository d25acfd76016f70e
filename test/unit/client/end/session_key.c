/* session_key.c - session keys as bytes, written and read; damaged ones are refused. */
/* one thread */
#include "client/end/end.h"

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
    static const uint8_t  own[] = { 0, 1, 2, 0xff, 0 };
    struct hf_session_key key = { .url = URL,
                                  .url_size = strlen(URL),
                                  .ttl_ms = 15000,
                                  .own = own,
                                  .own_size = sizeof own };

    (void)state;
    size = hf_session_key_write(&key, bytes, sizeof bytes);
    return size <= sizeof bytes ? 0 : -1;
}

/* From a buffer of exactly that size, so that a sanitizer finds reads beyond it. */
static int read_exactly(const uint8_t *from, size_t length, struct hf_session_key *ret)
{
    char                  errmsg[HF_ERRMSG_MAX] = "";
    uint8_t              *copy = test_malloc(length > 0 ? length : 1);
    struct hf_session_key key = { .ttl_ms = 12345 };

    memcpy(copy, from, length);
    int r = hf_session_key_read(copy, length, &key, errmsg);
    if (r < 0) {
        assert_int_equal(key.ttl_ms, 12345); /* untouched */
        assert_non_null(strstr(errmsg, "the session key "));
    }
    if (ret != NULL)
        *ret = key;
    test_free(copy);
    return r;
}

static void a_key_is_read_as_it_was_written(void **state)
{
    struct hf_session_key key;
    char                  errmsg[HF_ERRMSG_MAX] = "";

    (void)state;
    assert_int_equal(hf_session_key_read(bytes, size, &key, errmsg), 0);
    assert_int_equal(key.url_size, strlen(URL));
    assert_memory_equal(key.url, URL, strlen(URL));
    assert_int_equal(key.ttl_ms, 15000);
    assert_int_equal(key.own_size, 5);
    assert_memory_equal(key.own, "\0\1\2\xff\0", 5);
}

static void nothing_is_written_to_a_small_buffer(void **state)
{
    struct hf_session_key key;
    char                  errmsg[HF_ERRMSG_MAX] = "";
    uint8_t               small[512];

    (void)state;
    assert_int_equal(hf_session_key_read(bytes, size, &key, errmsg), 0);
    memset(small, 'x', sizeof small);
    for (size_t room = 0; room < size; room++) {
        assert_int_equal(hf_session_key_write(&key, small, room), size);
        assert_int_equal(small[0], 'x');
    }
    assert_int_equal(hf_session_key_write(&key, small, size), size);
    assert_memory_equal(small, bytes, size);
    assert_int_equal(small[size], 'x');
}

static void every_other_length_is_refused(void **state)
{
    (void)state;
    for (size_t length = 0; length < size; length++)
        assert_int_equal(read_exactly(bytes, length, NULL), HF_EINVAL);
    bytes[size] = 0;
    assert_int_equal(read_exactly(bytes, size + 1, NULL), HF_EINVAL);
    assert_int_equal(read_exactly(bytes, size, NULL), 0);
}

static void a_change_of_any_byte_is_refused(void **state)
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

/* With a correct checksum. */
static void invalid_fields_are_refused(void **state)
{
    struct hf_session_key key = { .url = "memory:\0x", .url_size = 9, .own = bytes };

    (void)state;
    size = hf_session_key_write(&key, bytes, sizeof bytes);
    assert_int_equal(read_exactly(bytes, size, NULL), HF_EINVAL);
    key = (struct hf_session_key){
        .url = URL, .url_size = 5, .ttl_ms = UINT32_MAX, .own = bytes
    };
    size = hf_session_key_write(&key, bytes, sizeof bytes);
    assert_int_equal(read_exactly(bytes, size, NULL), HF_EINVAL);
    key =
        (struct hf_session_key){ .url = "", .own = (const uint8_t *)"x", .own_size = 1 };
    size = hf_session_key_write(&key, bytes,
                                sizeof bytes); /* an empty URL would mean $HOLDFAST_URL */
    assert_int_equal(read_exactly(bytes, size, NULL), HF_EINVAL);

    /* Too many bytes of the store: the length of the URL is smaller, so the rest is
     * larger. */
    uint8_t long_own[HF_SESSION_KEY_MAX] = { 0 };
    key = (struct hf_session_key){
        .url = URL, .url_size = 5, .own = long_own, .own_size = HF_SESSION_KEY_MAX
    };
    size = hf_session_key_write(&key, bytes, sizeof bytes);
    assert_int_equal(read_exactly(bytes, size, NULL), 0);
    assert_int_equal(read_exactly(bytes, size - 1, NULL), HF_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_key_is_read_as_it_was_written, write_sample),
        cmocka_unit_test_setup(nothing_is_written_to_a_small_buffer, write_sample),
        cmocka_unit_test_setup(every_other_length_is_refused, write_sample),
        cmocka_unit_test_setup(a_change_of_any_byte_is_refused, write_sample),
        cmocka_unit_test_setup(invalid_fields_are_refused, write_sample),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
