/* stream.h - bytes to and from a server, without ever waiting.
 *
 * TCP or a Unix socket, plain or TLS.  The owner of a stream polls its
 * descriptor for what hf_stream_events() says, then calls hf_stream_step()
 * until it is open, and hf_stream_read() and hf_stream_flush() after that.
 *
 *     CONNECTING --> SHAKING (TLS only) --> OPEN --> BROKEN
 *
 * Every state may become BROKEN, and a connection that is there at once need
 * not be CONNECTING first.
 *
 * What is to be sent is appended to `out` with hf_stream_append(), so that many
 * small messages leave in one segment.
 *
 * A server that refuses us says why and closes.  If we are just sending then,
 * sending fails first.  That alone breaks no stream: first we read what the
 * server said, up to the end.
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
    int                  fd;  /* close-on-exec, closed in forked children; -1: none */
    void                *ssl; /* the library's; NULL: plain */
    unsigned char       *out; /* not yet sent: out[done] to out[used] */
    size_t               done, used, room;
    bool                 want_write; /* TLS asked for it */
    bool                 mute;       /* sending failed; there may be something to read */
    bool                 denied; /* broken, and trying again will not help: certificate */
    unsigned             generation; /* of the process that opened it, see base/fork.h */
    char                 errmsg[HF_STREAM_ERRMSG]; /* why it broke, as a clause */
};

/* Start to connect; `tls` NULL: plain, else it must live as long as the stream.
 * `host` is the name the certificate must be for (a name or a numeric address),
 * lent; plain streams need none.  What `stream` was before does not matter; from
 * now on it must stay in its place.  Never fails: a failure is a stream that is
 * BROKEN, which must be closed too. */
void hf_stream_open(struct hf_stream *stream, const struct sockaddr *address,
                    socklen_t length, struct hf_tls *tls, const char *host);

/* Close; what is still in `out` is sent only if that needs no waiting.  `errmsg`
 * and `denied` stay; a second time does nothing.  In a forked child the parent's
 * connection goes on. */
void hf_stream_close(struct hf_stream *stream);

/* Get on with connecting and shaking hands. */
void hf_stream_step(struct hf_stream *stream);

/* For epoll or poll: EPOLLIN and EPOLLOUT as needed now. */
unsigned hf_stream_events(const struct hf_stream *stream);

/* Read up to `size` bytes: how many; 0: none now; -1: BROKEN, the end of the
 * stream included.  Read until there are none: TLS may keep bytes for which the
 * descriptor does not become readable. */
long hf_stream_read(struct hf_stream *stream, void *ret, size_t size);

/* `size` (not 0) bytes at the end of `out`, to be filled at once; NULL: out of memory. */
void *hf_stream_append(struct hf_stream *stream, size_t size);

/* Send what can be sent.  A failure shows in `state`, or in the next read. */
void hf_stream_flush(struct hf_stream *stream);

#endif
