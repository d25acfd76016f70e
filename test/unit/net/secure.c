/* secure.c - TLS streams to a real server: which certificates are trusted, on both
 * sides. */
#include "lib/net/certs.h"
#include "net/stream.h"
#include "net/tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct cert ca, other_ca, server, client;
static char        ca_file[300], other_file[300], client_file[300], stranger_file[300];

static int make_certificates(void **state)
{
    struct cert stranger;

    (void)state;
    cert_make(&ca, NULL, NULL, -DAY, DAY);
    cert_make(&other_ca, NULL, NULL, -DAY, DAY);
    cert_make(&server, &ca, "DNS:localhost,DNS:*.example.org,IP:127.0.0.1", -DAY, DAY);
    cert_make(&client, &ca, "DNS:client", -DAY, DAY);
    cert_make(&stranger, &other_ca, "DNS:client", -DAY, DAY);
    cert_write(&ca, "ca", true, false, NULL, ca_file, sizeof ca_file);
    cert_write(&other_ca, "other", true, false, NULL, other_file, sizeof other_file);
    cert_write(&client, "client", true, true, NULL, client_file, sizeof client_file);
    cert_write(&stranger, "stranger", true, true, NULL, stranger_file,
               sizeof stranger_file);
    cert_free(&stranger);
    return 0;
}

static int remove_certificates(void **state)
{
    (void)state;
    cert_free(&ca);
    cert_free(&other_ca);
    cert_free(&server);
    cert_free(&client);
    unlink(ca_file);
    unlink(other_file);
    unlink(client_file);
    unlink(stranger_file);
    return 0;
}

/* ---- Echo ------------------------------------------------------------------------ */

static void echo(int version, const char *host, const char *asked_for)
{
    struct tls_peer peer = { .cert = &server, .version = version };
    struct tls_call mine;
    int             least = 1;

    tls_peer_start(&peer);
    tls_call(&mine, &peer.peer, ca_file, NULL, host);
    assert_int_equal(setsockopt(mine.stream.fd, SOL_SOCKET, SO_SNDBUF, &least,
                                sizeof least),
                     0);
    if (stream_settle(&mine.stream) != HF_STREAM_OPEN)
        fail_msg("%s: %s", host, mine.stream.errmsg);
    assert_true(stream_echo(&mine.stream, 4 << 20) > 0);
    tls_hang_up(&mine);
    tls_peer_finish(&peer);
    assert_string_equal(peer.asked_for, asked_for);
    assert_int_equal(peer.end, SSL_ERROR_ZERO_RETURN); /* we sent close_notify */
}

static void test_four_megabytes_are_echoed(void **state)
{
    (void)state;
    echo(0, "localhost", "localhost");
    echo(TLS1_2_VERSION, "localhost", "localhost");
}

static void test_host_names_and_addresses(void **state)
{
    (void)state;
    echo(0, "127.0.0.1", ""); /* an address is not sent as server name */
    echo(0, "zk1.example.org", "zk1.example.org");
}

static void talk_record(SSL *ssl, struct tls_peer *peer)
{
    static char record[16000];
    char        byte;

    memset(record, 'r', sizeof record);
    SSL_write(ssl, record, sizeof record);
    peer->end = SSL_get_error(ssl, SSL_read(ssl, &byte, 1));
}

static void test_bytes_buffered_by_tls_are_read(void **state)
{
    struct tls_peer peer = { .cert = &server, .talk = talk_record };
    struct tls_call mine;
    char            piece[7];
    size_t          got = 0;
    long            n;

    (void)state;
    tls_peer_start(&peer);
    tls_call(&mine, &peer.peer, ca_file, NULL, "localhost");
    assert_int_equal(stream_settle(&mine.stream), HF_STREAM_OPEN);
    assert_int_equal(stream_receive(&mine.stream, piece, 1), 1);
    got = 1; /* the whole record has been read from the socket */
    while ((n = hf_stream_read(&mine.stream, piece, sizeof piece)) > 0)
        got += (size_t)n;
    assert_int_equal(n, 0);
    assert_int_equal(got, 16000);
    tls_hang_up(&mine);
    tls_peer_finish(&peer);
    assert_int_equal(peer.end, SSL_ERROR_ZERO_RETURN);
}

/* ---- Wrong servers ---------------------------------------------------------------- */

static void expect_denial(const struct cert *cert, const char *trust, const char *host,
                          const char *why)
{
    struct tls_peer peer = { .cert = cert };
    struct tls_call mine;
    char            byte;

    tls_peer_start(&peer);
    tls_call(&mine, &peer.peer, trust, NULL, host);
    assert_int_equal(stream_settle(&mine.stream), HF_STREAM_BROKEN);
    assert_string_equal(mine.stream.errmsg, why);
    assert_true(mine.stream.denied);
    assert_int_equal(hf_stream_read(&mine.stream, &byte, 1), -1);
    tls_hang_up(&mine);
    tls_peer_finish(&peer);
    assert_false(peer.shaken);
}

static void test_an_unknown_authority_is_refused(void **state)
{
    struct cert alone;

    (void)state;
    expect_denial(&server, NULL, "localhost",
                  "the server's certificate is not trusted: unable to get local issuer "
                  "certificate (give its CA by ?ca=FILE)");
    expect_denial(&server, other_file, "localhost",
                  "the server's certificate is not trusted: unable to get local issuer "
                  "certificate (the file given by ?ca= does not have its CA)");
    cert_make(&alone, NULL, "DNS:localhost", -DAY, DAY);
    expect_denial(&alone, NULL, "localhost",
                  "the server's certificate is not trusted: self-signed certificate "
                  "(give its CA by ?ca=FILE)");
    cert_free(&alone);
}

static void test_a_certificate_of_another_host_is_refused(void **state)
{
    (void)state;
    expect_denial(&server, ca_file, "zk9",
                  "the server's certificate is for another host, not for zk9");
    expect_denial(&server, ca_file, "127.0.0.9",
                  "the server's certificate is for another host, not for 127.0.0.9");
}

static void test_a_certificate_without_a_host_is_refused(void **state)
{
    struct peer     peer;
    struct tls_call mine;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    tls_call(&mine, &peer, ca_file, NULL, "");
    assert_int_equal(mine.stream.state, HF_STREAM_BROKEN);
    tls_hang_up(&mine);
    peer_close(&peer);
}

static void test_an_expired_certificate_is_refused(void **state)
{
    struct cert old, young;

    (void)state;
    cert_make(&old, &ca, "DNS:localhost", -2 * DAY, -DAY);
    expect_denial(&old, ca_file, "localhost", "the server's certificate has expired");
    cert_free(&old);
    cert_make(&young, &ca, "DNS:localhost", DAY, 2 * DAY);
    expect_denial(&young, ca_file, "localhost",
                  "the server's certificate is not valid yet (is the clock right?)");
    cert_free(&young);
}

/* ---- Client certificates ----------------------------------------------------------- */

/* With TLS 1.3 our handshake ends before the server has checked our certificate: the
 * refusal comes with a later read. */
static void introduce(int version, const char *cert, const char *refusal)
{
    struct tls_peer peer = { .cert = &server, .client_ca = &ca, .version = version };
    struct tls_call mine;
    char            answer[5];
    bool            welcome = refusal == NULL;

    tls_peer_start(&peer);
    tls_call(&mine, &peer.peer, ca_file, cert, "localhost");
    if (stream_settle(&mine.stream) == HF_STREAM_OPEN) {
        for (int i = 0; i < 3; i++)
            stream_send(&mine.stream, "hello", 5);
        assert_int_equal(stream_receive(&mine.stream, answer, 5), welcome ? 5 : 0);
    }
    assert_int_equal(mine.stream.denied, !welcome);
    if (!welcome)
        assert_string_equal(mine.stream.errmsg, refusal);
    tls_hang_up(&mine);
    tls_peer_finish(&peer);
    assert_int_equal(peer.shaken, welcome);
}

static void test_a_client_certificate_is_demanded(void **state)
{
    (void)state;
    introduce(0, client_file, NULL);
    introduce(TLS1_2_VERSION, client_file, NULL);
    introduce(0, NULL,
              "the server demands a client certificate (give one by ?cert=FILE)");
    introduce(TLS1_2_VERSION, NULL,
              "the server refused the TLS handshake (it may want a client certificate: "
              "?cert=FILE)");
    introduce(0, stranger_file, "the server does not accept our certificate: unknown CA");
    introduce(TLS1_2_VERSION, stranger_file,
              "the server does not accept our certificate: unknown CA");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_megabytes_are_echoed),
        cmocka_unit_test(test_host_names_and_addresses),
        cmocka_unit_test(test_bytes_buffered_by_tls_are_read),
        cmocka_unit_test(test_an_unknown_authority_is_refused),
        cmocka_unit_test(test_a_certificate_of_another_host_is_refused),
        cmocka_unit_test(test_a_certificate_without_a_host_is_refused),
        cmocka_unit_test(test_an_expired_certificate_is_refused),
        cmocka_unit_test(test_a_client_certificate_is_demanded),
    };

    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
