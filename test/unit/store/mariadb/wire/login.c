/* login.c - logging in, byte by byte: plugins that Debian's server does not have, and servers
 * that are none.  The test itself is the server.
 *
 * caching_sha2_password is MySQL's: its packets are written here as MySQL documents them. */
/* one thread */
#include "unit/lib/mariadb_fake.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

static void sha2_proof(unsigned char ret[32])
{
    assert_true(hf_my_auth_sha2("s3cret", (const unsigned char *)FAKE_CHALLENGE, ret));
}

/* ---- caching_sha2_password --------------------------------------------------------------- */

static void test_sha2_the_server_remembers_us(void **state)
{
    unsigned char proof[32];

    (void)state;
    sha2_proof(proof);
    fake_dial_tcp("s3cret", NULL);
    fake_greet(FAKE_MODERN, "caching_sha2_password");
    fake_expect_login(proof, 32, "caching_sha2_password");
    FAKE_SAY(2, "\1\3");
    fake_expect_in(3);
}

static void test_sha2_without_a_password(void **state)
{
    (void)state;
    fake_dial_tcp(NULL, NULL);
    fake_greet(FAKE_MODERN, "caching_sha2_password");
    fake_expect_login(NULL, 0, "caching_sha2_password");
    fake_expect_in(2);
}

static void test_sha2_the_password_itself_on_a_unix_socket(void **state)
{
    unsigned char proof[32];

    (void)state;
    sha2_proof(proof);
    fake_dial_path("s3cret");
    fake_greet(FAKE_MODERN, "caching_sha2_password");
    fake_expect_login(proof, 32, "caching_sha2_password");
    FAKE_SAY(2, "\1\4");
    fake_expect_proof("s3cret", 7, 3);
    fake_expect_in(4);
}

static EVP_PKEY *key;

static size_t write_key(char *ret, size_t size)
{
    BIO  *bio = BIO_new(BIO_s_mem());
    char *text;

    key = EVP_RSA_gen(2048);
    assert_true(key != NULL && PEM_write_bio_PUBKEY(bio, key));
    size_t length = (size_t)BIO_get_mem_data(bio, &text);
    assert_true(length < size);
    memcpy(ret, text, length);
    BIO_free(bio);
    return length;
}

static void expect_encrypted(void)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    unsigned char plain[256];
    size_t        made = sizeof plain;

    assert_true(EVP_PKEY_decrypt_init(context) > 0);
    assert_true(EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) > 0);
    assert_true(EVP_PKEY_decrypt(context, plain, &made, fake_said, fake_said_size) > 0);
    EVP_PKEY_CTX_free(context);
    assert_int_equal(made, 7);
    for (size_t i = 0; i < made; i++)
        plain[i] ^= (unsigned char)FAKE_CHALLENGE[i];
    assert_memory_equal(plain, "s3cret", 7);
}

/* Without TLS, the password is never sent as it is. */
static void test_sha2_the_password_for_the_servers_key(void **state)
{
    unsigned char proof[32];
    char          answer[1000] = "\1";

    (void)state;
    sha2_proof(proof);
    size_t size = 1 + write_key(answer + 1, sizeof answer - 1);
    for (int good = 0; good < 2; good++) {
        fake_dial_tcp("s3cret", NULL);
        fake_greet(FAKE_MODERN, "caching_sha2_password");
        fake_expect_login(proof, 32, "caching_sha2_password");
        FAKE_SAY(2, "\1\4");
        fake_expect_proof("\2", 1, 3);
        fake_say(4, answer, good ? size : size / 2);
        if (good) {
            assert_true(fake_hear());
            assert_int_equal(fake_said_number, 5);
            assert_int_equal(fake_said_size, 256);
            expect_encrypted();
            fake_expect_in(6);
        } else {
            fake_expect_end(HF_EDENIED, "sends a public key that cannot be used");
        }
    }
    EVP_PKEY_free(key);
}

/* ---- Other plugins ------------------------------------------------------------------------ */

#define OTHER "qrstuvwxQRSTUVWXYZ01"

static void test_switches_to_another_plugin(void **state)
{
    unsigned char proof[32], native[20];

    (void)state;
    sha2_proof(proof);
    assert_true(hf_my_auth_native("s3cret", (const unsigned char *)OTHER, native));
    fake_dial_tcp("s3cret", NULL);
    fake_greet(FAKE_MODERN, "caching_sha2_password");
    fake_expect_login(proof, 32, "caching_sha2_password");
    FAKE_SAY(2, "\xfemysql_native_password\0" OTHER "\0");
    fake_expect_proof(native, 20, 3);
    fake_expect_in(4);

    assert_true(
        hf_my_auth_native("s3cret", (const unsigned char *)FAKE_CHALLENGE, native));
    assert_true(hf_my_auth_sha2("s3cret", (const unsigned char *)OTHER, proof));
    fake_dial_tcp("s3cret", NULL);
    fake_greet(FAKE_MODERN,
               "sha256_password"); /* not ours: the server will say what it wants */
    fake_expect_login(native, 20, "mysql_native_password");
    FAKE_SAY(2, "\xfe"
                "caching_sha2_password\0" OTHER "\0");
    fake_expect_proof(proof, 32, 3);
    FAKE_SAY(4, "\1\3");
    fake_expect_in(5);

    fake_dial_tcp(NULL, NULL);
    fake_greet(FAKE_MODERN, "mysql_native_password");
    fake_expect_login(NULL, 0, "mysql_native_password");
    FAKE_SAY(2, "\xfemysql_native_password\0" OTHER "\0");
    fake_expect_proof("", 0, 3);
    fake_expect_in(4);
}

static void log_in_and_hear(const char *bytes, size_t size)
{
    fake_dial_tcp("s3cret", NULL);
    fake_greet(FAKE_MODERN, "mysql_native_password");
    assert_true(fake_hear());
    fake_say(2, bytes, size);
}

static void test_plugins_that_we_refuse(void **state)
{
    static const struct {
        const char *bytes;
        size_t      size;
        const char *says;
    } cases[] = {
#define CASE(bytes, says) { bytes, sizeof(bytes) - 1, says }
        CASE("\xfe", "in the way of MySQL 4.0"),
        CASE("\xfemysql_clear_password\0",
             "plugin mysql_clear_password, which needs TLS"),
        CASE("\xfe"
             "client_ed25519\0" OTHER OTHER,
             "plugin client_ed25519, which we do not have"),
        CASE("\xfe"
             "dialog\0\2Password: ",
             "plugin dialog, which we do not have"),
        CASE("\xfe"
             "a\nplugin%s\0",
             "plugin a\nplugin%s"),
        CASE("\xfeunfinished", "without a name"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        log_in_and_hear(cases[i].bytes, cases[i].size);
        fake_expect_end(HF_EDENIED, cases[i].says);
        assert_false(memmem(fake_said, fake_said_size, "s3cret", 6) != NULL);
    }
}

static void test_servers_that_lose_the_thread(void **state)
{
    static const struct {
        const char *bytes;
        size_t      size;
    } cases[] = {
#define WRONG(bytes) { bytes, sizeof(bytes) - 1 }
        WRONG("\1\3"),   WRONG("\1\4"),
        WRONG("\1"),     WRONG("\2"),
        WRONG("\xfd"),   WRONG("\xfemysql_native_password\0short"),
        WRONG("\xff\1"), WRONG("\1-----BEGIN P"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        log_in_and_hear(cases[i].bytes, cases[i].size);
        fake_expect_end(0, "does not speak MariaDB's protocol");
    }
    log_in_and_hear("\xfemysql_native_password\0" OTHER, 43); /* for ever */
    for (unsigned char i = 4; i < 60 && fake_hear(); i = (unsigned char)(i + 2))
        fake_say(i, "\xfemysql_native_password\0" OTHER, 43);
    fake_expect_end(0, "does not speak MariaDB's protocol");
}

/* ---- Greetings ----------------------------------------------------------------------------- */

static void test_greetings_that_are_none(void **state)
{
    static const struct {
        const char *bytes;
        size_t      size;
        const char *says;
    } cases[] = {
        CASE("HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak MariaDB's protocol"),
        CASE("SSH-2.0-OpenSSH_9.2p1\r\n", "does not speak MariaDB's protocol"),
        CASE("-ERR unknown command\r\n", "does not speak MariaDB's protocol"),
        CASE("\x15\3\1\0\2\2\x46", "does not speak MariaDB's protocol"),
        CASE("\0\0\0\0", "does not speak MariaDB's protocol"),
        CASE("\1\0\0\1\x0a", "does not speak MariaDB's protocol"), /* the second packet */
        CASE("\x0a\0\0\0\x09"
             "5.0.1\0\0\0\0",
             "does not speak MariaDB's protocol"),
        CASE("\xff\xff\xff\0\x0a", "does not speak MariaDB's protocol"),
        CASE("\x17\0\0\0\xff\x10\4Too many connections",
             "does not let us in: Too many connections (error 1040)"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake_dial_tcp("s3cret", NULL);
        fake_say_raw(cases[i].bytes, cases[i].size);
        fake_expect_end(0, cases[i].says);
    }
    fake_dial_tcp("s3cret", NULL);
    FAKE_SAY(
        0, "\xff\x6a\4Host '10.0.0.1' is not allowed to connect to this MariaDB server");
    fake_expect_end(HF_EDENIED, "Host '10.0.0.1' is not allowed");
}

static void test_servers_that_are_too_old(void **state)
{
    (void)state;
    fake_dial_tcp("s3cret", NULL);
    fake_greet(FAKE_MODERN & ~0x00080000u, "");
    fake_expect_end(HF_EUNSUPPORTED, "is too old");
}

/* Whatever is cut off is not taken for a greeting. */
static void test_greetings_that_are_cut_off(void **state)
{
    unsigned char greeting[200];
    size_t size = fake_write_greeting(greeting, FAKE_MODERN, "mysql_native_password");

    (void)state;
    for (size_t cut = 1; cut + 23 < size; cut += 3) { /* the plugin may be missing */
        fake_dial_tcp("s3cret", NULL);
        fake_say(0, greeting, cut);
        fake_expect_end(0, "does not speak MariaDB's protocol");
    }
}

/* One byte in each read. */
static void test_packets_in_pieces(void **state)
{
    unsigned char packet[204];
    size_t size = fake_write_greeting(packet + 4, FAKE_MODERN, "mysql_native_password");
    static const char answer[] = "\7\0\0\2\0\0\0\2\0\0\0";

    (void)state;
    fake_dial_tcp("s3cret", NULL);
    hf_my_put(packet, size, 4);
    for (size_t i = 0; i < size + 4; i++) {
        fake_say_raw(packet + i, 1);
        mariadb_rig_run(&fake_rig, 20);
        assert_int_equal(fake_rig.overs, 0);
    }
    assert_true(fake_hear());
    for (size_t i = 0; i < sizeof answer - 1; i++) {
        assert_int_equal(fake_rig.logins, 0);
        fake_say_raw(answer + i, 1);
        mariadb_rig_run(&fake_rig, 20);
    }
    assert_int_equal(fake_rig.logins, 1);
    fake_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha2_the_server_remembers_us),
        cmocka_unit_test(test_sha2_without_a_password),
        cmocka_unit_test(test_sha2_the_password_itself_on_a_unix_socket),
        cmocka_unit_test(test_sha2_the_password_for_the_servers_key),
        cmocka_unit_test(test_switches_to_another_plugin),
        cmocka_unit_test(test_plugins_that_we_refuse),
        cmocka_unit_test(test_servers_that_lose_the_thread),
        cmocka_unit_test(test_greetings_that_are_none),
        cmocka_unit_test(test_servers_that_are_too_old),
        cmocka_unit_test(test_greetings_that_are_cut_off),
        cmocka_unit_test(test_packets_in_pieces),
    };
    char errmsg[HF_ERRMSG_MAX];

    if (hf_tls_load("mariadb", errmsg, sizeof errmsg) != 0) {
        fprintf(stderr, "%s\n", errmsg);
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
