/* stream.h - bytes to and from a server, without blocking.
 *
 * TCP or a Unix socket, plain or TLS.  The owner of a stream polls its
 * descriptor for what hf_stream_events() says, then calls hf_stream_step()
 * until it is open, and hf_stream_read() and hf_stream_flush() after that.
 *
 *     CONNECTING --> SHAKING (TLS only) --> OPEN --> BROKEN
 *                            ^               |
 *                            +---------------+  hf_stream_secure()
 *
 * Every state may become BROKEN, and a connection that opens at once skips
 * CONNECTING.
 *
 * Output is appended to `out` with hf_stream_append(), so that many small messages
 * leave in one segment.
 *
 * A server that rejects us says why, then closes.  If we are sending just then,
 * sending fails first.  That alone does not break the stream: we first read what
 * the server said, up to the end.
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
    bool                 mute;       /* sending failed; there may be input */
    bool                 denied;     /* broken, and a retry will not help: certificate */
    unsigned             generation; /* of the process that opened it, see base/fork.h */
    char                 errmsg[HF_STREAM_ERRMSG]; /* why it broke */
};

/* Start to connect; `tls` NULL: plain, else it must live as long as the stream.
 * `host` is the name the certificate must be for (a name or a numeric address),
 * lent; plain streams need none.  `stream` may be uninitialised; from now on it
 * must not move.  Never fails: after a failure the stream is BROKEN, and must be
 * closed, too. */
void hf_stream_open(struct hf_stream *stream, const struct sockaddr *address,
                    socklen_t length, struct hf_tls *tls, const char *host);

/* Close.  The rest of `out` is sent only if that does not block.  `errmsg` and `denied`
 * stay; closing twice is harmless.  In a forked child the parent's connection stays
 * open. */
void hf_stream_close(struct hf_stream *stream);

/* Continue to connect and to shake hands. */
void hf_stream_step(struct hf_stream *stream);

/* Go on by TLS, on a plain stream that is OPEN and has sent all its output: protocols
 * whose two sides agree on TLS first.  As for hf_stream_open(), `tls` must live as long,
 * and `host` is lent. */
void hf_stream_secure(struct hf_stream *stream, struct hf_tls *tls, const char *host);

/* For epoll or poll: EPOLLIN and EPOLLOUT as needed now. */
unsigned hf_stream_events(const struct hf_stream *stream);

/* Read up to `size` bytes.  Returns how many; 0: none now; -1: BROKEN, or the end of the
 * stream.  Read until there are none: TLS may buffer bytes without making the descriptor
 * readable. */
long hf_stream_read(struct hf_stream *stream, void *ret, size_t size);

/* `size` (not 0) bytes at the end of `out`, to be filled at once; NULL: out of memory. */
void *hf_stream_append(struct hf_stream *stream, size_t size);

/* Send what can be sent.  A failure shows in `state`, or in the next read. */
void hf_stream_flush(struct hf_stream *stream);

#endif
