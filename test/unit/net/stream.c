/* stream.c - plain streams: sending, receiving, closing. */
#include "net/stream.h"

#include "lib/net/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
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

/* ---- Bytes in and out ------------------------------------------------------------ */

static void test_four_megabytes_are_echoed(void **state)
{
    struct peer      peer;
    struct hf_stream stream;
    int              least = 1;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, peer_echo, NULL);
    open_to(&stream, &peer);
    assert_int_equal(setsockopt(stream.fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least),
                     0);
    assert_int_equal(stream_settle(&stream), HF_STREAM_OPEN);
    assert_true(stream_echo(&stream, 4 << 20) > 10);
    assert_int_equal(stream.used, 0);
    hf_stream_close(&stream);
    peer_finish(&peer);
}

/* Reads nothing until told to. */
struct late {
    sem_t  may_read;
    size_t got;
    int    error; /* of the last read; 0: closed orderly */
    char   head[16];
};

static void read_late(int fd, void *data)
{
    struct late *late = data;
    char         buffer[65536];
    ssize_t      n;

    sem_wait(&late->may_read);
    while ((n = recv(fd, buffer, sizeof buffer, 0)) > 0) {
        if (late->got == 0)
            memcpy(late->head, buffer, sizeof late->head);
        late->got += (size_t)n;
    }
    late->error = n < 0 ? errno : 0;
}

static void test_unsent_bytes_are_kept_and_want_pollout(void **state)
{
    static char      piece[1 << 20];
    struct late      late = { .error = -1 };
    struct peer      peer;
    struct hf_stream stream;
    size_t           appended = 0;

    (void)state;
    sem_init(&late.may_read, 0, 0);
    assert_true(peer_listen(&peer, AF_UNIX));
    peer_serve(&peer, read_late, &late);
    open_to(&stream, &peer);
    assert_int_equal(stream_settle(&stream), HF_STREAM_OPEN);
    while (stream.used == 0) {
        stream_send(&stream, piece, sizeof piece);
        appended += sizeof piece;
    }
    assert_int_equal(hf_stream_events(&stream), EPOLLIN | EPOLLOUT);
    hf_stream_flush(&stream);
    assert_int_equal(stream.state, HF_STREAM_OPEN);

    sem_post(&late.may_read);
    while (stream.used > 0) {
        assert_true(stream_wait(&stream));
        hf_stream_flush(&stream);
    }
    assert_int_equal(stream.room, 0); /* so large a buffer is not kept */
    hf_stream_close(&stream);
    peer_finish(&peer);
    assert_int_equal(late.got, appended);
    assert_int_equal(late.error, 0);
    sem_destroy(&late.may_read);
}

/* ---- The end --------------------------------------------------------------------- */

static void talk_half(int fd, void *data)
{
    (void)data;
    peer_write(fd, "half a me", 9);
}

static void test_the_peer_closes_within_a_message(void **state)
{
    struct peer      peer;
    struct hf_stream stream;
    char             message[20];

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, talk_half, NULL);
    open_to(&stream, &peer);
    assert_int_equal(stream_settle(&stream), HF_STREAM_OPEN);
    assert_int_equal(stream_receive(&stream, message, sizeof message), 9);
    assert_memory_equal(message, "half a me", 9);
    assert_int_equal(stream.state, HF_STREAM_BROKEN);
    assert_string_equal(stream.errmsg, "the server closed the connection");
    assert_false(stream.denied);
    hf_stream_close(&stream);
    peer_finish(&peer);
}

/* Wait until `size` bytes have arrived, unread. */
static void await_unread(const struct hf_stream *stream, int size)
{
    int unread = 0;

    for (int i = 0; i < 10000 && unread < size; i++) {
        assert_int_equal(ioctl(stream->fd, FIONREAD, &unread), 0);
        poll(NULL, 0, 1);
    }
    assert_true(unread >= size);
}

static void talk_then_read_late(int fd, void *data)
{
    static const char chatter[20000];

    peer_write(fd, chatter, sizeof chatter);
    read_late(fd, data);
}

/* With unread input, close() resets the connection and drops bytes that were not
 * delivered yet. */
static void test_closing_with_unread_input_still_sends_the_last_bytes(void **state)
{
    static char      words[1 << 20] = "goodbye";
    struct late      late = { .error = -1 };
    struct peer      peer;
    struct hf_stream stream;
    size_t           taken = 0;

    (void)state;
    sem_init(&late.may_read, 0, 0);
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, talk_then_read_late, &late);
    open_to(&stream, &peer);
    assert_int_equal(stream_settle(&stream), HF_STREAM_OPEN);
    await_unread(&stream, 20000);
    while (stream.used == 0) {
        stream_send(&stream, words, sizeof words);
        taken += stream.used == 0 ? sizeof words : stream.done;
    }
    hf_stream_close(&stream);
    sem_post(&late.may_read);
    peer_finish(&peer);
    assert_true(late.got >= taken);
    assert_memory_equal(late.head, "goodbye", 7);
    assert_int_equal(late.error, 0);
    sem_destroy(&late.may_read);
}

/* Such as the last message of a session. */
static void test_closing_sends_pending_bytes(void **state)
{
    struct late      late = { .error = -1 };
    struct peer      peer;
    struct hf_stream stream;

    (void)state;
    sem_init(&late.may_read, 0, 1);
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, read_late, &late);
    open_to(&stream, &peer);
    assert_int_equal(stream_settle(&stream), HF_STREAM_OPEN);
    memcpy(hf_stream_append(&stream, 7), "goodbye", 7);
    hf_stream_close(&stream);
    peer_finish(&peer);
    assert_int_equal(late.got, 7);
    assert_memory_equal(late.head, "goodbye", 7);
    assert_int_equal(late.error, 0);
    sem_destroy(&late.may_read);
}

/* Refuses, and closes without reading: the connection is reset. */
static void talk_refusal(int fd, void *data)
{
    char byte;

    recv(fd, &byte, 1, MSG_PEEK);
    peer_write(fd, "no", 2);
    sem_wait(data);
}

static void test_a_refusal_is_read_while_sending(void **state)
{
    struct peer      peer;
    struct hf_stream stream;
    sem_t            leave;
    char             answer[10];

    (void)state;
    sem_init(&leave, 0, 0);
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, talk_refusal, &leave);
    open_to(&stream, &peer);
    assert_int_equal(stream_settle(&stream), HF_STREAM_OPEN);
    stream_send(&stream, "a request", 9);
    await_unread(&stream, 2);
    sem_post(&leave);
    peer_finish(&peer);
    for (int i = 0; i < 10; i++) /* SIGPIPE would end this program */
        stream_send(&stream, "another", 7);
    assert_int_equal(stream.state, HF_STREAM_OPEN);
    assert_true(stream.mute);
    assert_int_equal(stream.used, 0);
    assert_int_equal(stream_receive(&stream, answer, sizeof answer), 2);
    assert_memory_equal(answer, "no", 2);
    assert_int_equal(stream.state, HF_STREAM_BROKEN);
    assert_string_equal(stream.errmsg, "connection reset by peer");
    hf_stream_close(&stream);
    sem_destroy(&leave);
}

/* ---- Fork ------------------------------------------------------------------------ */

static int child_closes(struct hf_stream *stream)
{
    int fd = stream->fd;

    if (fcntl(fd, F_GETFD) >= 0)
        return 1;
    if (dup2(STDERR_FILENO, fd) != fd) /* the number may be reused by now */
        return 2;
    hf_stream_close(stream);
    return fcntl(fd, F_GETFD) >= 0 ? 0 : 3;
}

static void test_a_forked_child_cannot_disturb_its_parent(void **state)
{
    struct peer      peer;
    struct hf_stream stream;
    char             answer[5];
    int              status;
    pid_t            pid;

    (void)state;
    assert_true(peer_listen(&peer, AF_INET));
    peer_serve(&peer, peer_echo, NULL);
    open_to(&stream, &peer);
    assert_int_equal(stream_settle(&stream), HF_STREAM_OPEN);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(child_closes(&stream));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    stream_send(&stream, "still", 5);
    assert_int_equal(stream_receive(&stream, answer, 5), 5);
    hf_stream_close(&stream);
    peer_finish(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_four_megabytes_are_echoed),
        cmocka_unit_test(test_unsent_bytes_are_kept_and_want_pollout),
        cmocka_unit_test(test_the_peer_closes_within_a_message),
        cmocka_unit_test(test_closing_with_unread_input_still_sends_the_last_bytes),
        cmocka_unit_test(test_closing_sends_pending_bytes),
        cmocka_unit_test(test_a_refusal_is_read_while_sending),
        cmocka_unit_test(test_a_forked_child_cannot_disturb_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
