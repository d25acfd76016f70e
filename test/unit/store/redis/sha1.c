/* sha1.c - the SHA-1 of scripts, compared with that of OpenSSL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/redis/inner.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_as_openssl(const char *text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned      size = 0;
    char          expected[41], found[41];

    assert_int_equal(EVP_Digest(text, strlen(text), digest, &size, EVP_sha1(), NULL), 1);
    assert_int_equal(size, 20);
    for (size_t i = 0; i < size; i++)
        snprintf(expected + 2 * i, 3, "%02x", digest[i]);
    hf_redis_sha1(text, found);
    assert_string_equal(found, expected);
}

static void test_texts_of_every_length(void **state)
{
    char text[300];

    (void)state;
    for (size_t length = 0; length < sizeof text; length++) {
        for (size_t i = 0; i < length; i++)
            text[i] = (char)(1 + (i * 37 + length) % 255);
        text[length] = '\0';
        expect_as_openssl(text);
    }
}

static void test_a_long_text(void **state)
{
    size_t length = 100000;
    char  *text = malloc(length + 1);

    (void)state;
    memset(text, 'x', length);
    text[length] = '\0';
    expect_as_openssl(text);
    free(text);
}

static void test_the_example_of_the_standard(void **state)
{
    char found[41];

    (void)state;
    hf_redis_sha1("abc", found); /* FIPS 180-4 */
    assert_string_equal(found, "a9993e364706816aba3e25717850c26c9cd0d89d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_example_of_the_standard),
        cmocka_unit_test(test_texts_of_every_length),
        cmocka_unit_test(test_a_long_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
