/* certs.h - certificates for tests, and a TLS server that presents them. */
#ifndef HF_TEST_NET_CERTS_H
#define HF_TEST_NET_CERTS_H

#include "lib/net/peer.h"

#include <openssl/ssl.h>

#define DAY 86400L

struct cert {
    X509     *x509;
    EVP_PKEY *key;
};

/* Make one, valid between so many seconds from now.  `issuer` NULL: self-signed; `names`
 * as OpenSSL writes them, "DNS:localhost,IP:127.0.0.1"; NULL: a CA. */
void cert_make(struct cert *cert, const struct cert *issuer, const char *names, long from,
               long to);
void cert_free(struct cert *cert);

/* Write the certificate, the key, or both to a file in TMPDIR; `ret` is its path.  A
 * `passphrase` NULL: the key is in the clear. */
void cert_write(const struct cert *cert, const char *name, bool with_cert, bool with_key,
                const char *passphrase, char *ret, size_t size);

/* A server: how it behaves, and what it saw. */
struct tls_peer {
    struct peer        peer;
    const struct cert *cert;
    const struct cert
        *client_ca; /* clients must present a certificate of this CA; NULL: none */
    int  version;   /* highest TLS version; 0: any */
    void (*talk)(SSL *ssl, struct tls_peer *peer); /* after the handshake */

    bool shaken;
    char asked_for[64]; /* server name that the client sent; "": none */
    int  end;           /* SSL_get_error() of the last read */
};

void tls_peer_start(struct tls_peer *peer);
void tls_peer_finish(struct tls_peer *peer);

/* Talk: send everything back until the end. */
void tls_peer_echo(SSL *ssl, struct tls_peer *peer);

/* ---- Our own end --------------------------------------------------------------- */

/* One connection of ours. */
struct tls_call {
    struct hf_tls   *tls;
    struct hf_stream stream;
};

/* Connect; `trust` and `cert` are files, or NULL. */
void tls_call(struct tls_call *call, const struct peer *peer, const char *trust,
              const char *cert, const char *host);

/* Close, and check that OpenSSL's error queue is empty. */
void tls_hang_up(struct tls_call *call);

#endif
