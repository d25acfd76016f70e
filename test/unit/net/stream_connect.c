/* stream_connect.c - plain streams: connecting. */
#include "lib/net/peer.h"
#include "net/stream.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void open_to(struct hf_stream *stream, const struct peer *peer)
{
    hf_stream_open(stream, (const struct sockaddr *)&peer->at, peer->length, NULL, NULL);
}

static void echo_over(int family)
{
    struct peer      peer;
    struct hf_stream stream;
    char             answer[5];

    if (!peer_listen(&peer, family)) {
        print_message("no sockets of family %d here\n", family);
        return;
    }
    peer_serve(&peer, peer_echo, NULL);
    open_to(&stream, &peer);
    assert_int_equal(stream_settle(&stream), HF_STREAM_OPEN);
    assert_int_equal(hf_stream_events(&stream), EPOLLIN);
    assert_int_equal(hf_stream_read(&stream, answer, sizeof answer), 0);
    stream_send(&stream, "hello", 5);
    assert_int_equal(stream_receive(&stream, answer, 5), 5);
    assert_memory_equal(answer, "hello", 5);
    hf_stream_close(&stream);
    assert_int_equal(stream.fd, -1);
    hf_stream_close(&stream);
    peer_finish(&peer);
}

static void test_every_family_of_sockets(void **state)
{
    (void)state;
    echo_over(AF_INET);
    echo_over(AF_INET6);
    echo_over(AF_UNIX);
}

static void test_options_of_the_socket(void **state)
{
    struct peer      peer;
    struct hf_stream stream;
    int              on = 0;
    socklen_t        size = sizeof on;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    open_to(&stream, &peer);
    assert_int_equal(stream_settle(&stream), HF_STREAM_OPEN);
    assert_int_equal(getsockopt(stream.fd, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
    assert_int_not_equal(on, 0);
    assert_true(fcntl(stream.fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(stream.fd, F_GETFL) & O_NONBLOCK);
    hf_stream_close(&stream);
    peer_close(&peer);
}

static void test_nobody_listens_at_the_address(void **state)
{
    struct peer      peer;
    struct hf_stream stream;
    char             byte;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    peer_close(&peer);
    open_to(&stream, &peer);
    assert_int_equal(stream_settle(&stream), HF_STREAM_BROKEN);
    assert_string_equal(stream.errmsg, "connection refused");
    assert_false(stream.denied);
    assert_int_equal(hf_stream_events(&stream), 0);
    assert_int_equal(hf_stream_read(&stream, &byte, 1), -1);
    hf_stream_close(&stream);
    assert_string_equal(stream.errmsg, "connection refused");

    assert_true(peer_listen(&peer, AF_UNIX));
    peer_close(&peer);
    open_to(&stream, &peer);
    assert_int_equal(stream.state, HF_STREAM_BROKEN);
    assert_string_equal(stream.errmsg, "no such file or directory");
    hf_stream_close(&stream);
}

/* With a full backlog the kernel drops packets, like a dead machine. */
static void test_a_server_that_drops_packets_does_not_block(void **state)
{
    struct peer       peer;
    struct hf_stream  stream[4];
    struct hf_stream *last = &stream[3];

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    assert_int_equal(listen(peer.listener, 0), 0);
    for (int i = 0; i < 4; i++)
        open_to(&stream[i], &peer);
    assert_int_equal(stream_settle(&stream[0]), HF_STREAM_OPEN);
    for (int i = 0; i < 100; i++) {
        hf_stream_step(last);
        assert_int_equal(last->state, HF_STREAM_CONNECTING);
        assert_int_equal(hf_stream_events(last), EPOLLOUT);
    }
    stream_send(last, "early", 5);
    assert_int_equal(last->used, 5);
    for (int i = 0; i < 4; i++)
        hf_stream_close(&stream[i]);
    peer_close(&peer);
}

/* In a network namespace with a single ephemeral port, a connection to that port connects
 * to itself.  The exit status of a child process; 77: no right to make a namespace. */
static int call_oneself(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(40000) };
    struct ifreq       lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    struct hf_stream   stream;
    int                fd;

    if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
        return 77;
    fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY);
    if (fd < 0 || write(fd, "40000 40000", 11) != 11)
        return 77;
    close(fd);
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
        return 77;
    close(fd);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    hf_stream_open(&stream, (struct sockaddr *)&at, sizeof at, NULL, NULL);
    if (stream.state == HF_STREAM_CONNECTING && stream_wait(&stream))
        hf_stream_step(&stream);
    if (stream.state != HF_STREAM_BROKEN)
        return 1;
    return strcmp(stream.errmsg, "connection refused") == 0 ? 0 : 2;
}

static void test_a_connection_to_itself_is_refused(void **state)
{
    int   status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(call_oneself());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_family_of_sockets),
        cmocka_unit_test(test_options_of_the_socket),
        cmocka_unit_test(test_nobody_listens_at_the_address),
        cmocka_unit_test(test_a_server_that_drops_packets_does_not_block),
        cmocka_unit_test(test_a_connection_to_itself_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
