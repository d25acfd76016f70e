/* tls.c - files of certificates and keys, and messages about bad ones. */
/* one thread */
#include "net/tls.h"

#include "holdfast.h"
#include "lib/net/certs.h"

#include <openssl/err.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct cert one, two, odd; /* `odd` is only a key, of another type */
static char cert[300], key[300], both[300], other_key[300], odd_key[300], locked[300];

static int make_files(void **state)
{
    char errmsg[200];

    (void)state;
    assert_int_equal(hf_tls_load("test", errmsg, sizeof errmsg), 0);
    cert_make(&one, NULL, "DNS:one", -DAY, DAY);
    cert_make(&two, NULL, "DNS:two", -DAY, DAY);
    odd.key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    assert_non_null(odd.key);
    cert_write(&odd, "odd", false, true, NULL, odd_key, sizeof odd_key);
    cert_write(&one, "cert", true, false, NULL, cert, sizeof cert);
    cert_write(&one, "key", false, true, NULL, key, sizeof key);
    cert_write(&one, "both", true, true, NULL, both, sizeof both);
    cert_write(&two, "other", false, true, NULL, other_key, sizeof other_key);
    cert_write(&one, "locked", false, true, "secret", locked, sizeof locked);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    cert_free(&one);
    cert_free(&two);
    cert_free(&odd);
    unlink(odd_key);
    unlink(cert);
    unlink(key);
    unlink(both);
    unlink(other_key);
    unlink(locked);
    return 0;
}

static void expect_fine(const char *ca, const char *certificate, const char *private)
{
    const struct hf_tls_options options = { ca, certificate, private };
    struct hf_tls              *tls;
    char                        errmsg[200] = "";

    if (hf_tls_new(&options, errmsg, sizeof errmsg, &tls) != 0)
        fail_msg("%s", errmsg);
    assert_int_equal(ERR_peek_error(), 0);
    hf_tls_free(tls);
}

/* The message must name `file`. */
static void expect_fault(const char *ca, const char *certificate, const char *private,
                         const char *file, const char *why)
{
    const struct hf_tls_options options = { ca, certificate, private };
    struct hf_tls              *tls = NULL;
    char                        errmsg[200] = "", expected[600];

    assert_int_equal(hf_tls_new(&options, errmsg, sizeof errmsg, &tls), HF_EINVAL);
    snprintf(expected, sizeof expected, "TLS: %s: %s", file, why);
    assert_string_equal(errmsg, expected);
    assert_null(tls);
    assert_int_equal(ERR_peek_error(), 0);
}

static void test_good_files(void **state)
{
    (void)state;
    expect_fine(NULL, NULL, NULL);
    expect_fine(cert, NULL, NULL);
    expect_fine(cert, cert, key);
    expect_fine(cert, both, NULL);
    hf_tls_free(NULL);
}

static void test_files_that_cannot_be_read(void **state)
{
    (void)state;
    expect_fault("/nowhere/ca.pem", NULL, NULL, "/nowhere/ca.pem",
                 "No such file or directory");
    expect_fault(NULL, "/nowhere/c.pem", key, "/nowhere/c.pem",
                 "No such file or directory");
    expect_fault(NULL, cert, "/nowhere/k.pem", "/nowhere/k.pem",
                 "No such file or directory");
    expect_fault("/", NULL, NULL, "/", "Is a directory");
}

static void test_files_without_a_certificate_or_key(void **state)
{
    (void)state;
    expect_fault("/dev/null", NULL, NULL, "/dev/null",
                 "has no certificate in PEM format");
    expect_fault(key, NULL, NULL, key, "has no certificate in PEM format");
    expect_fault(NULL, key, key, key, "has no certificate in PEM format");
    expect_fault(NULL, cert, NULL, cert, "has no private key in PEM format");
    expect_fault(NULL, NULL, key, key, "is a key without a certificate: give ?cert= too");
}

static void test_a_key_of_another_certificate(void **state)
{
    (void)state;
    expect_fault(NULL, cert, other_key, other_key, "is not the key of the certificate");
    expect_fault(NULL, cert, odd_key, odd_key, "is not the key of the certificate");
    expect_fault(NULL, cert, locked, locked, "needs a passphrase; give a key without");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_files),
        cmocka_unit_test(test_files_that_cannot_be_read),
        cmocka_unit_test(test_files_without_a_certificate_or_key),
        cmocka_unit_test(test_a_key_of_another_certificate),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
