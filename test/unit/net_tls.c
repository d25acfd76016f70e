/* net_tls.c - TLS streams against a real TLS server.  Run without arguments. */
#include "net/tls.h"

#include "lib/net_certs.h"
#include "net/stream.h"

#include <openssl/err.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
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

/* One call: our options, and the stream that comes of them. */
struct call {
    struct hf_tls   *tls;
    struct hf_stream stream;
};

static void call(struct call *call, const struct peer *peer, const char *trust,
                 const char *cert, const char *host)
{
    const struct hf_tls_options options = { .ca = trust, .cert = cert };
    char                        errmsg[200];

    assert_int_equal(hf_tls_new(&options, errmsg, sizeof errmsg, &call->tls), 0);
    hf_stream_open(&call->stream, (const struct sockaddr *)&peer->at, peer->length,
                   call->tls, host);
}

static void hang_up(struct call *call)
{
    assert_int_equal(ERR_peek_error(), 0);
    hf_stream_close(&call->stream);
    hf_tls_free(call->tls);
    assert_int_equal(ERR_peek_error(), 0);
}

/* ---- It works -------------------------------------------------------------------- */

static void echo(int version, const char *host, const char *asked_for)
{
    struct tls_peer peer = { .cert = &server, .version = version };
    struct call     mine;
    int             least = 1;

    tls_peer_start(&peer);
    call(&mine, &peer.peer, ca_file, NULL, host);
    assert_int_equal(setsockopt(mine.stream.fd, SOL_SOCKET, SO_SNDBUF, &least,
                                sizeof least),
                     0);
    if (stream_settle(&mine.stream) != HF_STREAM_OPEN)
        fail_msg("%s: %s", host, mine.stream.errmsg);
    assert_true(stream_echo(&mine.stream, 4 << 20) > 0);
    hang_up(&mine);
    tls_peer_finish(&peer);
    assert_string_equal(peer.asked_for, asked_for);
    assert_int_equal(peer.end, SSL_ERROR_ZERO_RETURN); /* we said goodbye */
}

static void test_four_megabytes_there_and_back(void **state)
{
    (void)state;
    echo(0, "localhost", "localhost");
    echo(TLS1_2_VERSION, "localhost", "localhost");
}

static void test_names_and_numbers(void **state)
{
    (void)state;
    echo(0, "127.0.0.1", ""); /* numbers are not told to the server */
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

static void test_bytes_inside_tls_are_not_forgotten(void **state)
{
    struct tls_peer peer = { .cert = &server, .talk = talk_record };
    struct call     mine;
    char            piece[7];
    size_t          got = 0;
    long            n;

    (void)state;
    tls_peer_start(&peer);
    call(&mine, &peer.peer, ca_file, NULL, "localhost");
    assert_int_equal(stream_settle(&mine.stream), HF_STREAM_OPEN);
    assert_int_equal(stream_receive(&mine.stream, piece, 1), 1);
    got = 1; /* the whole record is out of the socket now */
    while ((n = hf_stream_read(&mine.stream, piece, sizeof piece)) > 0)
        got += (size_t)n;
    assert_int_equal(n, 0);
    assert_int_equal(got, 16000);
    hang_up(&mine);
    tls_peer_finish(&peer);
    assert_int_equal(peer.end, SSL_ERROR_ZERO_RETURN);
}

/* ---- The server is not who it should be -------------------------------------------- */

static void expect_denial(const struct cert *cert, const char *trust, const char *host,
                          const char *why)
{
    struct tls_peer peer = { .cert = cert };
    struct call     mine;
    char            byte;

    tls_peer_start(&peer);
    call(&mine, &peer.peer, trust, NULL, host);
    assert_int_equal(stream_settle(&mine.stream), HF_STREAM_BROKEN);
    assert_string_equal(mine.stream.errmsg, why);
    assert_true(mine.stream.denied);
    assert_int_equal(hf_stream_read(&mine.stream, &byte, 1), -1);
    hang_up(&mine);
    tls_peer_finish(&peer);
    assert_false(peer.shaken);
}

static void test_an_unknown_authority(void **state)
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

static void test_another_host(void **state)
{
    (void)state;
    expect_denial(&server, ca_file, "zk9",
                  "the server's certificate is for another host, not for zk9");
    expect_denial(&server, ca_file, "127.0.0.9",
                  "the server's certificate is for another host, not for 127.0.0.9");
}

static void test_no_host_at_all(void **state)
{
    struct peer peer;
    struct call mine;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    call(&mine, &peer, ca_file, NULL, "");
    assert_int_equal(mine.stream.state, HF_STREAM_BROKEN);
    hang_up(&mine);
    peer_close(&peer);
}

static void test_out_of_date(void **state)
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

/* ---- The server wants to know who we are -------------------------------------------- */

/* TLS 1.3 has shaken hands for us before the server has looked at our certificate:
 * then the refusal is read. */
static void introduce(int version, const char *cert, const char *refusal)
{
    struct tls_peer peer = { .cert = &server, .client_ca = &ca, .version = version };
    struct call     mine;
    char            answer[5];
    bool            welcome = refusal == NULL;

    tls_peer_start(&peer);
    call(&mine, &peer.peer, ca_file, cert, "localhost");
    if (stream_settle(&mine.stream) == HF_STREAM_OPEN) {
        for (int i = 0; i < 3; i++)
            stream_send(&mine.stream, "hello", 5);
        assert_int_equal(stream_receive(&mine.stream, answer, 5), welcome ? 5 : 0);
    }
    assert_int_equal(mine.stream.denied, !welcome);
    if (!welcome)
        assert_string_equal(mine.stream.errmsg, refusal);
    hang_up(&mine);
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

/* ---- The server does not speak TLS --------------------------------------------------- */

static void expect_no_tls(void (*talk)(int fd, void *data), const char *why)
{
    struct peer peer;
    struct call mine;

    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, talk, NULL);
    call(&mine, &peer, ca_file, NULL, "localhost");
    assert_int_equal(stream_settle(&mine.stream), HF_STREAM_BROKEN);
    assert_string_equal(mine.stream.errmsg, why);
    assert_false(mine.stream.denied);
    hang_up(&mine);
    peer_finish(&peer);
}

static void talk_plainly(int fd, void *data)
{
    char byte;

    (void)data;
    peer_write(fd, "220 welcome to a plain server\n", 30);
    while (recv(fd, &byte, 1, 0) > 0)
        ;
}

/* As a server does that takes the beginning of a handshake for nonsense. */
static void read_and_close(int fd, void *data)
{
    char buffer[4096];

    (void)data;
    recv(fd, buffer, sizeof buffer, 0);
}

static void close_unread(int fd, void *data)
{
    char byte;

    (void)data;
    recv(fd, &byte, 1, MSG_PEEK);
}

static void test_a_plain_server(void **state)
{
    (void)state;
    expect_no_tls(talk_plainly, "the server does not speak TLS on this port");
    expect_no_tls(read_and_close, "the server closed the connection in the TLS handshake "
                                  "(does it speak TLS on this port?)");
    expect_no_tls(close_unread, "connection reset by peer in the TLS handshake "
                                "(does it speak TLS on this port?)");
}

static void test_a_silent_server_holds_nobody_up(void **state)
{
    struct peer peer; /* the kernel connects; nobody accepts */
    struct call mine;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    call(&mine, &peer, ca_file, NULL, "localhost");
    while (mine.stream.state == HF_STREAM_CONNECTING) {
        assert_true(stream_wait(&mine.stream));
        hf_stream_step(&mine.stream);
    }
    for (int i = 0; i < 100; i++) {
        hf_stream_step(&mine.stream);
        assert_int_equal(mine.stream.state, HF_STREAM_SHAKING);
        assert_int_equal(hf_stream_events(&mine.stream), EPOLLIN);
    }
    hang_up(&mine);
    peer_close(&peer);
}

/* ---- The end ----------------------------------------------------------------------- */

static void talk_and_leave(SSL *ssl, struct tls_peer *peer)
{
    SSL_write(ssl, "half", 4);
    if (peer->version == 0)
        SSL_shutdown(ssl);
}

static void test_the_server_leaves(void **state)
{
    (void)state;
    for (int rude = 0; rude < 2; rude++) {
        struct tls_peer peer = { .cert = &server,
                                 .talk = talk_and_leave,
                                 .version = rude ? TLS1_3_VERSION : 0 };
        struct call     mine;
        char            message[20];

        tls_peer_start(&peer);
        call(&mine, &peer.peer, ca_file, NULL, "localhost");
        assert_int_equal(stream_settle(&mine.stream), HF_STREAM_OPEN);
        assert_int_equal(stream_receive(&mine.stream, message, sizeof message), 4);
        assert_memory_equal(message, "half", 4);
        assert_string_equal(mine.stream.errmsg, "the server closed the connection");
        assert_false(mine.stream.denied);
        hang_up(&mine);
        tls_peer_finish(&peer);
    }
}

static void talk_nothing(SSL *ssl, struct tls_peer *peer)
{
    char byte;

    (void)peer;
    recv(SSL_get_fd(ssl), &byte, 1, MSG_PEEK);
}

static void test_sending_to_nobody_raises_no_signal(void **state)
{
    struct tls_peer peer = { .cert = &server, .talk = talk_nothing };
    struct call     mine;
    char            answer[10];

    (void)state;
    tls_peer_start(&peer);
    call(&mine, &peer.peer, ca_file, NULL, "localhost");
    assert_int_equal(stream_settle(&mine.stream), HF_STREAM_OPEN);
    stream_send(&mine.stream, "hello", 5);
    tls_peer_finish(&peer); /* it has closed, and reset the connection */
    for (int i = 0; i < 10; i++)
        stream_send(&mine.stream, "hello", 5);
    assert_int_equal(stream_receive(&mine.stream, answer, sizeof answer), 0);
    assert_int_equal(mine.stream.state, HF_STREAM_BROKEN);
    assert_string_equal(mine.stream.errmsg, "connection reset by peer");
    hang_up(&mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_megabytes_there_and_back),
        cmocka_unit_test(test_names_and_numbers),
        cmocka_unit_test(test_bytes_inside_tls_are_not_forgotten),
        cmocka_unit_test(test_an_unknown_authority),
        cmocka_unit_test(test_another_host),
        cmocka_unit_test(test_no_host_at_all),
        cmocka_unit_test(test_out_of_date),
        cmocka_unit_test(test_a_client_certificate_is_demanded),
        cmocka_unit_test(test_a_plain_server),
        cmocka_unit_test(test_a_silent_server_holds_nobody_up),
        cmocka_unit_test(test_the_server_leaves),
        cmocka_unit_test(test_sending_to_nobody_raises_no_signal),
    };

    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
