/* secure.c - see secure.h.
 *
 * OpenSSL reads and writes through the stream's own recv and send, because its own use
 * of a socket may raise SIGPIPE.  We always leave its error queue empty: a stale entry
 * would make a later call look failed.
 */
#include "net/secure.h"

#include "base/fork.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ALERT(number) (SSL_AD_REASON_OFFSET + (number)) /* one the server sent */

/* ---- Messages ---------------------------------------------------------------- */

static void deny(struct hf_stream *stream, const char *what, const char *why,
                 const char *hint)
{
    const struct hf_tls *tls = SSL_get_app_data((SSL *)stream->ssl);

    snprintf(stream->errmsg, sizeof stream->errmsg, "%s%s%s", what, why,
             tls->bad[0] != '\0' ? tls->bad : hint);
    stream->denied = true;
}

/* The server's certificate is not trusted. */
static void explain_verify(struct hf_stream *stream, struct hf_tls *tls, long result)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(stream->ssl);
    const char        *name = X509_VERIFY_PARAM_get0_host(param, 0);
    char       *address = name == NULL ? X509_VERIFY_PARAM_get1_ip_asc(param) : NULL;
    const char *hint = "";

    switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        name = name != NULL ? name : address;
        deny(stream, "the server's certificate is for another host, not for ",
             name != NULL ? name : "this one", "");
        break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
        deny(stream, "the server's certificate has expired", "", "");
        break;
    case X509_V_ERR_CERT_NOT_YET_VALID:
        deny(stream, "the server's certificate is not valid yet", "",
             " (is the clock right?)");
        break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        hint = tls->ca != NULL ? " (the file given by ?ca= does not have its CA)"
                               : " (give its CA by ?ca=FILE)";
        /* fallthrough */
    default:
        deny(stream, "the server's certificate is not trusted: ",
             X509_verify_cert_error_string(result), hint);
    }
    OPENSSL_free(address);
}

/* An error of OpenSSL itself. */
static void explain_failure(struct hf_stream *stream, struct hf_tls *tls,
                            unsigned long error)
{
    int         reason = ERR_GET_REASON(error);
    const char *hint = tls->cert != NULL ? "" : " (give one by ?cert=FILE)";
    const char *text = ERR_reason_error_string(error);

    switch (ERR_GET_LIB(error) == ERR_LIB_SSL ? reason : 0) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
        explain_verify(stream, tls, SSL_get_verify_result(stream->ssl));
        break;
    case ALERT(SSL_AD_CERTIFICATE_REQUIRED):
        deny(stream, "the server demands a client certificate", "", hint);
        break;
    case ALERT(SSL_AD_HANDSHAKE_FAILURE):
        deny(stream, "the server refused the TLS handshake", "",
             tls->cert != NULL ? "" : " (it may want a client certificate: ?cert=FILE)");
        break;
    case ALERT(SSL_AD_BAD_CERTIFICATE):
    case ALERT(SSL_AD_UNSUPPORTED_CERTIFICATE):
    case ALERT(SSL_AD_CERTIFICATE_REVOKED):
    case ALERT(SSL_AD_CERTIFICATE_EXPIRED):
    case ALERT(SSL_AD_CERTIFICATE_UNKNOWN):
    case ALERT(SSL_AD_UNKNOWN_CA):
    case ALERT(SSL_AD_ACCESS_DENIED):
        deny(stream, "the server does not accept our certificate: ",
             SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET), hint);
        break;
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_UNKNOWN_PROTOCOL:
        snprintf(stream->errmsg, sizeof stream->errmsg,
                 "the server does not speak TLS on this port");
        break;
    default:
        snprintf(stream->errmsg, sizeof stream->errmsg, "TLS failed: %s",
                 text != NULL ? text : "unknown reason");
    }
}

/* The connection ended; recv or send have set errmsg, unless it was closed properly. */
static void explain_end(struct hf_stream *stream)
{
    size_t length;

    if (stream->errmsg[0] == '\0')
        snprintf(stream->errmsg, sizeof stream->errmsg,
                 "the server closed the connection");
    length = strlen(stream->errmsg);
    if (stream->state == HF_STREAM_SHAKING)
        snprintf(stream->errmsg + length, sizeof stream->errmsg - length,
                 " in the TLS handshake (does it speak TLS on this port?)");
}

/* After a call that returned nothing: 0, wait for the socket; -1, it is over. */
static long outcome(struct hf_stream *stream, int result)
{
    int           error = SSL_get_error(stream->ssl, result);
    unsigned long last = ERR_peek_last_error();
    bool          waits = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;

    stream->want_write = error == SSL_ERROR_WANT_WRITE;
    if (!waits) {
        if (error == SSL_ERROR_SSL &&
            ERR_GET_REASON(last) != SSL_R_UNEXPECTED_EOF_WHILE_READING)
            explain_failure(stream, SSL_get_app_data((SSL *)stream->ssl), last);
        else
            explain_end(stream);
    }
    ERR_clear_error();
    return waits ? 0 : -1;
}

/* ---- How TLS uses the socket -------------------------------------------------- */

static int socket_read(BIO *bio, char *ret, size_t size, size_t *got)
{
    long n = hf_stream_recv(BIO_get_data(bio), ret, size);

    BIO_clear_retry_flags(bio);
    if (n == 0)
        BIO_set_retry_read(bio);
    if (n < 0)
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    *got = n > 0 ? (size_t)n : 0;
    return n > 0 ? 1 : n < 0 ? 0 : -1;
}

static int socket_write(BIO *bio, const char *data, size_t size, size_t *put)
{
    long n = hf_stream_send(BIO_get_data(bio), data, size);

    BIO_clear_retry_flags(bio);
    if (n == 0)
        BIO_set_retry_write(bio);
    *put = n > 0 ? (size_t)n : 0;
    return n > 0 ? 1 : -1;
}

static long socket_ctrl(BIO *bio, int what, long number, void *pointer)
{
    (void)number;
    (void)pointer;
    if (what == BIO_CTRL_EOF)
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return what == BIO_CTRL_FLUSH; /* there is nothing to flush */
}

BIO_METHOD *hf_secure_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "holdfast stream");

    if (method != NULL) {
        BIO_meth_set_read_ex(method, socket_read);
        BIO_meth_set_write_ex(method, socket_write);
        BIO_meth_set_ctrl(method, socket_ctrl);
    }
    return method;
}

/* ---- One connection ----------------------------------------------------------- */

/* The certificate must be for `host`.  Server name indication allows names only. */
static bool expect(SSL *ssl, const char *host)
{
    if (host[0] == '\0') /* OpenSSL would not check the name at all */
        return false;
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host))
        return true;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host) && SSL_set_tlsext_host_name(ssl, host);
}

void hf_secure_begin(struct hf_stream *stream, struct hf_tls *tls, const char *host)
{
    hf_tls_reread(tls);
    SSL *ssl = SSL_new(tls->context); /* which keeps its context */
    BIO *bio = BIO_new(tls->socket);

    if (ssl == NULL || bio == NULL || !expect(ssl, host)) {
        SSL_free(ssl);
        BIO_free(bio);
        hf_stream_break(stream, "TLS cannot be set up for this host");
    } else {
        BIO_set_data(bio, stream);
        BIO_set_init(bio, 1);
        SSL_set_bio(ssl, bio, bio);
        SSL_set_app_data(ssl, tls);
        SSL_set_connect_state(ssl);
        stream->ssl = ssl;
    }
    ERR_clear_error();
}

void hf_secure_step(struct hf_stream *stream)
{
    int r;

    assert(stream->state == HF_STREAM_SHAKING);
    ERR_clear_error();
    hf_low_take(); /* it may read certificates */
    r = SSL_do_handshake(stream->ssl);
    hf_low_give();
    if (r == 1) {
        stream->want_write = false;
        stream->state = HF_STREAM_OPEN;
    } else if (outcome(stream, r) < 0) {
        hf_stream_break(stream, NULL);
    }
}

long hf_secure_recv(struct hf_stream *stream, void *ret, size_t size)
{
    size_t n = 0;
    int    r;

    ERR_clear_error();
    r = SSL_read_ex(stream->ssl, ret, size, &n);
    if (r != 1)
        return outcome(stream, r);
    stream->want_write = false;
    return (long)n;
}

long hf_secure_send(struct hf_stream *stream, const void *data, size_t size)
{
    size_t n = 0;
    int    r;

    ERR_clear_error();
    r = SSL_write_ex(stream->ssl, data, size, &n);
    if (r != 1)
        return outcome(stream, r);
    stream->want_write = false;
    return (long)n;
}

void hf_secure_end(struct hf_stream *stream)
{
    ERR_clear_error();
    SSL_shutdown(stream->ssl);
    ERR_clear_error();
}
