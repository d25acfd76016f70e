/* net_certs.h - certificates made for a test, and a TLS server that shows them. */
#ifndef HF_TEST_NET_CERTS_H
#define HF_TEST_NET_CERTS_H

#include "lib/net_peer.h"

#include <openssl/ssl.h>

#define DAY 86400L

struct cert {
    X509     *x509;
    EVP_PKEY *key;
};

/* Make one, valid from so many seconds from now to so many.  `issuer` NULL: itself;
 * `names` as OpenSSL writes them, "DNS:localhost,IP:127.0.0.1"; NULL: a CA. */
void cert_make(struct cert *cert, const struct cert *issuer, const char *names, long from,
               long to);
void cert_free(struct cert *cert);

/* Write the certificate, the key, or both to a file in TMPDIR; `ret` is its path.  A
 * `passphrase` NULL: the key is in the clear. */
void cert_write(const struct cert *cert, const char *name, bool with_cert, bool with_key,
                const char *passphrase, char *ret, size_t size);

/* A server: what it is to do, and what it saw. */
struct tls_peer {
    struct peer        peer;
    const struct cert *cert;
    const struct cert *client_ca; /* whoever calls must show one of this; NULL: no need */
    int                version;   /* the newest it speaks; 0: any */
    void (*talk)(SSL *ssl, struct tls_peer *peer); /* once hands are shaken */

    bool shaken;
    char asked_for[64]; /* the name the client sent along; "": none */
    int  end;           /* what SSL_get_error() says of the last read */
};

void tls_peer_start(struct tls_peer *peer);
void tls_peer_finish(struct tls_peer *peer);

/* Talk: send everything back until the end. */
void tls_peer_echo(SSL *ssl, struct tls_peer *peer);

/* ---- Our own end --------------------------------------------------------------- */

/* One call: our options, and the stream that comes of them. */
struct tls_call {
    struct hf_tls   *tls;
    struct hf_stream stream;
};

/* Start; `trust` and `cert` are files, or NULL. */
void tls_call(struct tls_call *call, const struct peer *peer, const char *trust,
              const char *cert, const char *host);

/* End, and see that OpenSSL's error queue is as empty as before. */
void tls_hang_up(struct tls_call *call);

#endif
