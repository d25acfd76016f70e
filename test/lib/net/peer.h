/* peer.h - the other end of a stream: a server in a thread of this process. */
#ifndef HF_TEST_NET_PEER_H
#define HF_TEST_NET_PEER_H

#include "net/stream.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

/* A server on 127.0.0.1, ::1 or a Unix socket in TMPDIR. */
struct peer {
    int                     listener;
    struct sockaddr_storage at;
    socklen_t               length;
    pthread_t               thread;
    void (*talk)(int fd, void *data);
    void *data;
};

/* False: this machine has no such sockets. */
bool peer_listen(struct peer *peer, int family);

/* Accept one connection in a thread, and call `talk`; the descriptor is closed
 * afterwards. */
void peer_serve(struct peer *peer, void (*talk)(int fd, void *data), void *data);

/* Wait for the thread to end, and stop listening. */
void peer_finish(struct peer *peer);

/* Stop listening, with no thread. */
void peer_close(struct peer *peer);

/* For `talk`: send everything back until the end.  `data` NULL. */
void peer_echo(int fd, void *data);

/* Write all of it, blocking; false: it failed. */
bool peer_write(int fd, const void *data, size_t size);

/* ---- Our own end: these block, 10 s at most ------------------------------------ */

/* Poll for the events that the stream wants; false: none in time. */
bool stream_wait(const struct hf_stream *stream);

/* Step until it is open or broken; its state. */
enum hf_stream_state stream_settle(struct hf_stream *stream);

void stream_send(struct hf_stream *stream, const void *data, size_t size);

/* Read `size` bytes or to the end; how many. */
size_t stream_receive(struct hf_stream *stream, void *ret, size_t size);

/* Send `size` bytes in pieces of many sizes while the peer echoes them, and compare.
 * How often a flush could not send all. */
int stream_echo(struct hf_stream *stream, size_t size);

#endif
