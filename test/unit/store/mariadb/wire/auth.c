/* auth.c - proofs of passwords, against values computed from the published algorithms. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/mariadb/wire/wire.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const unsigned char challenge[20] = { 1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                             11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };

static void is_hex(const unsigned char *bytes, size_t size, const char *hex)
{
    char text[2 * 64 + 1] = "";

    assert_true(size <= 64);
    for (size_t i = 0; i < size; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
    assert_string_equal(text, hex);
}

static void test_proofs(void **state)
{
    static const char *const cases[][3] = {
        { "s3cret", "f66fdd3ff855d9349a0ddb50c4a1a535fb412465",
          "3f3a9a7786fd9be9a006eed686b4e6b76484fdc06dc15685df5f8793574b84fc" },
        { "пароль", "f2db28a36f736b0e6ccc8280d5d7f5da11b08901",
          "e009b60b9dc2f11b7366701a67c7225022655eb9aa02fdc6492ba19ce5028cdf" },
        { NULL, "7d13abd721641469c590f067f047e21b7e87b1b7", /* 300 times "x" */
          "219ff04c00f1e6a3edc8ecffe952c274126d5e0733695f5cb8228de74f9994ad" },
    };
    char long_one[301];

    (void)state;
    memset(long_one, 'x', 300);
    long_one[300] = '\0';
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char   *password = cases[i][0] != NULL ? cases[i][0] : long_one;
        unsigned char proof[32];
        assert_true(hf_my_auth_native(password, challenge, proof));
        is_hex(proof, 20, cases[i][1]);
        assert_true(hf_my_auth_sha2(password, challenge, proof));
        is_hex(proof, 32, cases[i][2]);
    }
}

/* The same values that other clients compute. */
static void test_proofs_that_others_published(void **state)
{
    static const unsigned char theirs[20] = { 10,  47, 74, 111, 75, 73, 34, 48, 88, 76,
                                              114, 74, 37, 13,  3,  80, 82, 2,  23, 21 };
    unsigned char              proof[32];

    (void)state;
    assert_true(hf_my_auth_sha2("secret", theirs, proof));
    is_hex(proof, 32, "f490e76f66d9d86665ce54d98c78d0acfe2fb0b08b423da807144873d30b312c");
    assert_true(hf_my_auth_native("kingshard",
                                  (const unsigned char *)"@jx=d_3z42;sS$YrS)p|", proof));
    is_hex(proof, 20, "fbc71db5ac3d7b51048d1a1d88c1677f34bcca11");
}

/* ---- RSA ------------------------------------------------------------------------------ */

static EVP_PKEY *key;
static char      pem[4096];
static size_t    pem_size;

static void write_key(void)
{
    BIO  *bio = BIO_new(BIO_s_mem());
    char *text;

    assert_true(key != NULL && PEM_write_bio_PUBKEY(bio, key));
    pem_size = (size_t)BIO_get_mem_data(bio, &text);
    assert_true(pem_size < sizeof pem);
    memcpy(pem, text, pem_size);
    BIO_free(bio);
}

static void make_key(unsigned bits)
{
    EVP_PKEY_free(key);
    key = EVP_RSA_gen(bits);
    write_key();
}

/* A public key alone, which needs no primes: real ones of that size take a minute. */
static void make_long_key(void)
{
    unsigned char modulus[1024];
    unsigned      exponent = 65537;
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, NULL);

    memset(modulus, 0xa5, sizeof modulus);
    OSSL_PARAM params[] = { OSSL_PARAM_BN("n", modulus, sizeof modulus),
                            OSSL_PARAM_uint("e", &exponent), OSSL_PARAM_END };
    EVP_PKEY_free(key);
    key = NULL;
    assert_true(EVP_PKEY_fromdata_init(context) > 0);
    assert_true(EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) > 0);
    EVP_PKEY_CTX_free(context);
    write_key();
}

/* As the server does it. */
static void decrypt(const unsigned char *secret, size_t size, const char *password)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    unsigned char plain[1024];
    size_t        made = sizeof plain;

    assert_true(EVP_PKEY_decrypt_init(context) > 0);
    assert_true(EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) > 0);
    assert_true(EVP_PKEY_decrypt(context, plain, &made, secret, size) > 0);
    EVP_PKEY_CTX_free(context);
    for (size_t i = 0; i < made; i++)
        plain[i] ^= challenge[i % 20];
    assert_int_equal(made, strlen(password) + 1); /* its NUL, too */
    assert_memory_equal(plain, password, made);
}

static void test_passwords_for_a_public_key(void **state)
{
    unsigned char     secret[HF_MY_PROOF_MAX];
    struct hf_my_text text = { .data = pem };
    char              password[214];

    (void)state;
    make_key(2048);
    text.size = pem_size;
    size_t size =
        hf_my_auth_rsa("s3cret and more than twenty bytes", challenge, text, secret);
    assert_int_equal(size, 256);
    decrypt(secret, size, "s3cret and more than twenty bytes");
    memset(password, 'p', sizeof password);
    password[213] = '\0'; /* 214 bytes are the most for this key */
    size = hf_my_auth_rsa(password, challenge, text, secret);
    assert_int_equal(size, 256);
    decrypt(secret, size, password);
    EVP_PKEY_free(key);
    key = NULL;
}

static void test_bad_keys_and_long_passwords(void **state)
{
    unsigned char     secret[HF_MY_PROOF_MAX];
    struct hf_my_text text = { .data = pem };
    char              password[2000];

    (void)state;
    make_key(1024);
    for (size_t size = 0; size < pem_size - 1; size += 7) { /* cut off */
        text.size = size;
        assert_int_equal(hf_my_auth_rsa("p", challenge, text, secret), 0);
    }
    text.size = pem_size;
    memset(password, 'p', sizeof password);
    password[sizeof password - 1] = '\0';
    assert_int_equal(hf_my_auth_rsa(password, challenge, text, secret), 0);
    password[100] = '\0';
    assert_int_equal(hf_my_auth_rsa(password, challenge, text, secret), 0);
    make_long_key(); /* longer than we have room for */
    text.size = pem_size;
    assert_int_equal(hf_my_auth_rsa("p", challenge, text, secret), 0);
    EVP_PKEY_free(key);
    key = EVP_EC_gen("P-256"); /* no RSA */
    write_key();
    text.size = pem_size;
    assert_int_equal(hf_my_auth_rsa("p", challenge, text, secret), 0);
    EVP_PKEY_free(key);
    key = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proofs),
        cmocka_unit_test(test_proofs_that_others_published),
        cmocka_unit_test(test_passwords_for_a_public_key),
        cmocka_unit_test(test_bad_keys_and_long_passwords),
    };
    char errmsg[HF_ERRMSG_MAX];

    if (hf_tls_load("mariadb", errmsg, sizeof errmsg) != 0) {
        fprintf(stderr, "%s\n", errmsg);
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
