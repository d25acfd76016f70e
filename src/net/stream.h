/* stream.h - bytes to and from a server, without ever waiting.
 *
 * TCP or a Unix socket, plain or TLS.  Whoever owns a stream polls its
 * descriptor for what hf_stream_events() says, then calls hf_stream_step()
 * until it is open, and hf_stream_read() and hf_stream_flush() after that.
 *
 *     CONNECTING --> SHAKING (TLS only) --> OPEN --> BROKEN
 *
 * What is to be sent is appended to `out` with hf_stream_append(), so that many
 * small messages leave in one segment.
 */
#ifndef HF_STREAM_H
#define HF_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct hf_tls; /* tls.h */

#define HF_STREAM_ERRMSG 200

enum hf_stream_state {
    HF_STREAM_CONNECTING,
    HF_STREAM_SHAKING,
    HF_STREAM_OPEN,
    HF_STREAM_BROKEN,
};

struct hf_stream {
    enum hf_stream_state state;
    int                  fd;      /* close-on-exec, closed in forked children; -1: none */
    void                *ssl;     /* the library's; NULL: plain */
    unsigned char       *out;     /* not yet sent: out[done] to out[used] */
    size_t               done, used, room;
    bool                 want_write; /* TLS asked for it */
    bool                 denied;     /* broken, and trying again will not help: certificate */
    char                 errmsg[HF_STREAM_ERRMSG]; /* why it broke, as a clause */
};

/* Start to connect; `tls` NULL: plain.  `host` is the name the certificate must
 * be for (a name or a numeric address), lent.  Never fails: a failure is a
 * stream that is BROKEN. */
void hf_stream_open(struct hf_stream *stream, const struct sockaddr *address,
                    socklen_t length, struct hf_tls *tls, const char *host);

/* Close; what is still in `out` is sent only if that needs no waiting. */
void hf_stream_close(struct hf_stream *stream);

/* Get on with connecting and shaking hands. */
void hf_stream_step(struct hf_stream *stream);

/* For epoll or poll: EPOLLIN and EPOLLOUT as needed now. */
unsigned hf_stream_events(const struct hf_stream *stream);

/* Read up to `size` bytes: how many; 0: none now; -1: BROKEN, the end of the
 * stream included. */
long hf_stream_read(struct hf_stream *stream, void *ret, size_t size);

/* `size` bytes at the end of `out`, to be filled at once; NULL: out of memory. */
void *hf_stream_append(struct hf_stream *stream, size_t size);

/* Send what can be sent.  A failure shows in `state`. */
void hf_stream_flush(struct hf_stream *stream);

#endif
