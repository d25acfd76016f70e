/* secure.h - the TLS half of a stream; private to src/net. */
#ifndef HF_SECURE_H
#define HF_SECURE_H

#include "net/openssl.h"
#include "net/stream.h"

struct hf_tls {
    SSL_CTX    *context; /* of the files when all of them could last be used */
    BIO_METHOD *socket; /* how TLS reads and writes: hf_stream_recv(), hf_stream_send() */
    char       *ca, *cert, *key; /* the files, or NULL */
    char        bad[160];        /* why they cannot be used now, as a hint; or "" */
};

/* tls.c: read the files again, for the streams to come. */
void hf_tls_reread(struct hf_tls *tls);

/* Prepare `stream->ssl`.  A failure breaks the stream. */
void hf_secure_begin(struct hf_stream *stream, struct hf_tls *tls, const char *host);

/* Continue the handshake. */
void hf_secure_step(struct hf_stream *stream);

/* As recv and send below, for what is inside TLS. */
long hf_secure_recv(struct hf_stream *stream, void *ret, size_t size);
long hf_secure_send(struct hf_stream *stream, const void *data, size_t size);

/* Send close_notify if that does not block. */
void hf_secure_end(struct hf_stream *stream);

/* How TLS uses the socket; NULL: out of memory. */
BIO_METHOD *hf_secure_method(void);

/* ---- stream.c, for the above -------------------------------------------------- */

/* Return how many bytes; 0: none now; -1: the stream has ended, see `errmsg`. */
long hf_stream_recv(struct hf_stream *stream, void *ret, size_t size);
long hf_stream_send(struct hf_stream *stream, const void *data, size_t size);

/* It is over; `why` NULL: `errmsg` is set already. */
void hf_stream_break(struct hf_stream *stream, const char *why);

#endif
