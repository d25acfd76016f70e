/* secure_end.c - TLS streams to servers that are silent, close, or do not speak TLS. */
#include "lib/net/certs.h"
#include "net/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

static struct cert server; /* self-signed, and trusted */
static char        ca_file[300];

static int make_certificates(void **state)
{
    (void)state;
    cert_make(&server, NULL, "DNS:localhost", -DAY, DAY);
    cert_write(&server, "ca", true, false, NULL, ca_file, sizeof ca_file);
    return 0;
}

static int remove_certificates(void **state)
{
    (void)state;
    cert_free(&server);
    unlink(ca_file);
    return 0;
}

/* ---- The server does not speak TLS --------------------------------------------- */

static void expect_no_tls(void (*talk)(int fd, void *data), const char *why)
{
    struct peer     peer;
    struct tls_call mine;

    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, talk, NULL);
    tls_call(&mine, &peer, ca_file, NULL, "localhost");
    assert_int_equal(stream_settle(&mine.stream), HF_STREAM_BROKEN);
    assert_string_equal(mine.stream.errmsg, why);
    assert_false(mine.stream.denied);
    tls_hang_up(&mine);
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

/* Like a server that does not understand a handshake. */
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

static void test_a_server_without_tls(void **state)
{
    (void)state;
    expect_no_tls(talk_plainly, "the server does not speak TLS on this port");
    expect_no_tls(read_and_close, "the server closed the connection in the TLS handshake "
                                  "(does it speak TLS on this port?)");
    expect_no_tls(close_unread, "connection reset by peer in the TLS handshake "
                                "(does it speak TLS on this port?)");
}

static void test_a_silent_server_does_not_block(void **state)
{
    struct peer     peer; /* the kernel connects; nobody accepts */
    struct tls_call mine;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    tls_call(&mine, &peer, ca_file, NULL, "localhost");
    while (mine.stream.state == HF_STREAM_CONNECTING) {
        assert_true(stream_wait(&mine.stream));
        hf_stream_step(&mine.stream);
    }
    for (int i = 0; i < 100; i++) {
        hf_stream_step(&mine.stream);
        assert_int_equal(mine.stream.state, HF_STREAM_SHAKING);
        assert_int_equal(hf_stream_events(&mine.stream), EPOLLIN);
    }
    tls_hang_up(&mine);
    peer_close(&peer);
}

/* ---- The end ----------------------------------------------------------------------- */

static void talk_and_leave(SSL *ssl, struct tls_peer *peer)
{
    SSL_write(ssl, "half", 4);
    if (peer->version == 0)
        SSL_shutdown(ssl);
}

static void test_the_server_closes(void **state)
{
    (void)state;
    for (int rude = 0; rude < 2; rude++) {
        struct tls_peer peer = { .cert = &server,
                                 .talk = talk_and_leave,
                                 .version = rude ? TLS1_3_VERSION : 0 };
        struct tls_call mine;
        char            message[20];

        tls_peer_start(&peer);
        tls_call(&mine, &peer.peer, ca_file, NULL, "localhost");
        assert_int_equal(stream_settle(&mine.stream), HF_STREAM_OPEN);
        assert_int_equal(stream_receive(&mine.stream, message, sizeof message), 4);
        assert_memory_equal(message, "half", 4);
        assert_string_equal(mine.stream.errmsg, "the server closed the connection");
        assert_false(mine.stream.denied);
        tls_hang_up(&mine);
        tls_peer_finish(&peer);
    }
}

static void talk_nothing(SSL *ssl, struct tls_peer *peer)
{
    char byte;

    (void)peer;
    recv(SSL_get_fd(ssl), &byte, 1, MSG_PEEK);
}

static void test_sending_to_a_closed_connection_raises_no_signal(void **state)
{
    struct tls_peer peer = { .cert = &server, .talk = talk_nothing };
    struct tls_call mine;
    char            answer[10];

    (void)state;
    tls_peer_start(&peer);
    tls_call(&mine, &peer.peer, ca_file, NULL, "localhost");
    assert_int_equal(stream_settle(&mine.stream), HF_STREAM_OPEN);
    stream_send(&mine.stream, "hello", 5);
    tls_peer_finish(&peer); /* the server has closed and reset the connection */
    for (int i = 0; i < 10; i++)
        stream_send(&mine.stream, "hello", 5);
    assert_int_equal(stream_receive(&mine.stream, answer, sizeof answer), 0);
    assert_int_equal(mine.stream.state, HF_STREAM_BROKEN);
    assert_string_equal(mine.stream.errmsg, "connection reset by peer");
    tls_hang_up(&mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_without_tls),
        cmocka_unit_test(test_a_silent_server_does_not_block),
        cmocka_unit_test(test_the_server_closes),
        cmocka_unit_test(test_sending_to_a_closed_connection_raises_no_signal),
    };

    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
