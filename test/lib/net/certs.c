/* certs.c - see certs.h. */
#include "lib/net/certs.h"

#include "net/tls.h"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void add(struct cert *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX      context;
    X509_EXTENSION *extension;

    X509V3_set_ctx(&context, issuer, cert->x509, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(extension);
    assert_true(X509_add_ext(cert->x509, extension, -1));
    X509_EXTENSION_free(extension);
}

void cert_make(struct cert *cert, const struct cert *issuer, const char *names, long from,
               long to)
{
    const char *subject = names != NULL ? "a server" : "an authority";
    X509_NAME  *name;
    int64_t     serial = 0;

    cert->key = EVP_EC_gen("P-256");
    cert->x509 = X509_new();
    assert_non_null(cert->key);
    assert_non_null(cert->x509);
    if (issuer == NULL)
        issuer = cert;
    assert_int_equal(RAND_bytes((unsigned char *)&serial, sizeof serial / 2), 1);
    ASN1_INTEGER_set_int64(X509_get_serialNumber(cert->x509), serial + 1);
    X509_set_version(cert->x509, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(cert->x509), from);
    X509_gmtime_adj(X509_getm_notAfter(cert->x509), to);
    X509_set_pubkey(cert->x509, cert->key);
    name = X509_get_subject_name(cert->x509);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)subject,
                               -1, -1, 0);
    X509_set_issuer_name(cert->x509, X509_get_subject_name(issuer->x509));
    add(cert, issuer->x509, NID_subject_key_identifier, "hash");
    if (names != NULL) {
        add(cert, issuer->x509, NID_authority_key_identifier, "keyid");
        add(cert, issuer->x509, NID_subject_alt_name, names);
    } else {
        add(cert, issuer->x509, NID_basic_constraints, "critical,CA:TRUE");
        add(cert, issuer->x509, NID_key_usage, "critical,keyCertSign");
    }
    assert_true(X509_sign(cert->x509, issuer->key, EVP_sha256()) > 0);
}

void cert_free(struct cert *cert)
{
    X509_free(cert->x509);
    EVP_PKEY_free(cert->key);
}

void cert_write(const struct cert *cert, const char *name, bool with_cert, bool with_key,
                const char *passphrase, char *ret, size_t size)
{
    const char *folder = getenv("TMPDIR");
    FILE       *file;

    snprintf(ret, size, "%s/%s.%d.pem", folder != NULL ? folder : "/tmp", name,
             (int)getpid());
    file = fopen(ret, "we");
    assert_non_null(file);
    if (with_cert)
        assert_true(PEM_write_X509(file, cert->x509));
    if (with_key)
        assert_true(PEM_write_PrivateKey(file, cert->key,
                                         passphrase != NULL ? EVP_aes_128_cbc() : NULL,
                                         (const unsigned char *)passphrase,
                                         passphrase != NULL ? (int)strlen(passphrase) : 0,
                                         NULL, NULL));
    fclose(file);
}

/* ---- The server ---------------------------------------------------------------- */

static SSL_CTX *prepare(const struct tls_peer *peer)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());

    if (context == NULL || !SSL_CTX_use_certificate(context, peer->cert->x509) ||
        !SSL_CTX_use_PrivateKey(context, peer->cert->key))
        abort();
    SSL_CTX_set_max_proto_version(context, peer->version);
    if (peer->client_ca != NULL) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context), peer->client_ca->x509);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                           NULL);
    }
    return context;
}

/* In a thread of its own: it records what it sees, and the test asserts. */
static void shake_and_talk(int fd, void *data)
{
    struct tls_peer *peer = data;
    SSL_CTX         *context = prepare(peer);
    SSL             *ssl = SSL_new(context);
    const char      *name;

    if (ssl == NULL || !SSL_set_fd(ssl, fd))
        abort();
    if (SSL_accept(ssl) == 1) {
        peer->shaken = true;
        name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
        snprintf(peer->asked_for, sizeof peer->asked_for, "%s", name != NULL ? name : "");
        peer->talk(ssl, peer);
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    ERR_clear_error();
}

void tls_peer_start(struct tls_peer *peer)
{
    if (peer->talk == NULL)
        peer->talk = tls_peer_echo;
    assert_true(peer_listen(&peer->peer, AF_INET));
    peer_serve(&peer->peer, shake_and_talk, peer);
}

void tls_peer_finish(struct tls_peer *peer)
{
    peer_finish(&peer->peer);
}

void tls_peer_echo(SSL *ssl, struct tls_peer *peer)
{
    char buffer[5000];
    int  n;

    while ((n = SSL_read(ssl, buffer, sizeof buffer)) > 0)
        if (SSL_write(ssl, buffer, n) != n)
            break;
    peer->end = SSL_get_error(ssl, n);
}

/* ---- Our own end --------------------------------------------------------------- */

void tls_call(struct tls_call *call, const struct peer *peer, const char *trust,
              const char *cert, const char *host)
{
    const struct hf_tls_options options = { .ca = trust, .cert = cert };
    char                        errmsg[200];

    assert_int_equal(hf_tls_load("test", errmsg, sizeof errmsg), 0);
    assert_int_equal(hf_tls_new(&options, errmsg, sizeof errmsg, &call->tls), 0);
    hf_stream_open(&call->stream, (const struct sockaddr *)&peer->at, peer->length,
                   call->tls, host);
}

void tls_hang_up(struct tls_call *call)
{
    assert_int_equal(ERR_peek_error(), 0);
    hf_stream_close(&call->stream);
    hf_tls_free(call->tls);
    assert_int_equal(ERR_peek_error(), 0);
}
