/* tls.c - see tls.h. */
#include "net/tls.h"

#include "base/fork.h"
#include "holdfast.h"
#include "net/secure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct complaint {
    char  *text;
    size_t size;
};

static int complain(const struct complaint *complaint, const char *file, const char *why)
{
    snprintf(complaint->text, complaint->size, "TLS: %.100s: %s", file, why);
    return HF_EINVAL;
}

static bool is(unsigned long error, int library, int reason)
{
    return ERR_GET_LIB(error) == library && ERR_GET_REASON(error) == reason;
}

/* Why OpenSSL cannot use a file that should contain `what`.  Its last error is the most
 * general one; the ones before may say more. */
static int complain_of(const struct complaint *complaint, const char *file,
                       const char *what)
{
    unsigned long error = ERR_peek_last_error();
    const char   *reason = ERR_reason_error_string(error);
    bool          absent = false;
    char          why[100];

    while ((error = ERR_get_error()) != 0) {
        if (is(error, ERR_LIB_PEM, PEM_R_BAD_PASSWORD_READ))
            return complain(complaint, file, "needs a passphrase; give a key without");
        if (is(error, ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH))
            return complain(complaint, file, "is not the key of the certificate");
        absent = absent || is(error, ERR_LIB_PEM, PEM_R_NO_START_LINE) ||
                 is(error, ERR_LIB_X509, X509_R_NO_CERTIFICATE_OR_CRL_FOUND) ||
                 is(error, ERR_LIB_OSSL_DECODER, ERR_R_UNSUPPORTED);
    }
    if (absent)
        snprintf(why, sizeof why, "has no %s in PEM format", what);
    else
        snprintf(why, sizeof why, "has no %s that can be used: %s", what,
                 reason != NULL ? reason : "unknown reason");
    return complain(complaint, file, why);
}

/* Plain words for OpenSSL's reasons.  A pipe could not be read again, and would block. */
static int check_readable(const struct complaint *complaint, const char *file)
{
    struct stat stat_of;

    if (stat(file, &stat_of) == 0 && S_ISFIFO(stat_of.st_mode))
        return complain(complaint, file, "is a pipe; give a file");
    FILE *stream = fopen(file, "re");
    if (stream == NULL || (fgetc(stream) == EOF && ferror(stream))) {
        complain(complaint, file, strerror(errno));
        if (stream != NULL)
            fclose(stream);
        return HF_EINVAL;
    }
    fclose(stream);
    return 0;
}

/* A library must not prompt at the terminal. */
static int refuse_passphrase(char *ret, int size, int writing, void *data)
{
    (void)ret;
    (void)size;
    (void)writing;
    (void)data;
    return -1;
}

static int load_trust(SSL_CTX *context, const char *ca, const struct complaint *complaint)
{
    if (ca == NULL) {
        SSL_CTX_set_default_verify_paths(
            context); /* if that fails, so will verification */
        return 0;
    }
    if (check_readable(complaint, ca) < 0)
        return HF_EINVAL;
    if (!SSL_CTX_load_verify_file(context, ca))
        return complain_of(complaint, ca, "certificate");
    return 0;
}

static int load_identity(SSL_CTX *context, const struct hf_tls *tls,
                         const struct complaint *complaint)
{
    const char *key = tls->key != NULL ? tls->key : tls->cert;

    if (key == NULL)
        return 0;
    if (tls->cert == NULL)
        return complain(complaint, key,
                        "is a key without a certificate: give ?cert= too");
    if (check_readable(complaint, tls->cert) < 0 || check_readable(complaint, key) < 0)
        return HF_EINVAL;
    if (!SSL_CTX_use_certificate_chain_file(context, tls->cert))
        return complain_of(complaint, tls->cert, "certificate");
    if (!SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM))
        return complain_of(complaint, key, "private key");
    if (!SSL_CTX_check_private_key(context))
        return complain(complaint, key, "is not the key of the certificate");
    return 0;
}

static void configure(SSL_CTX *context)
{
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_default_passwd_cb(context, refuse_passphrase);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    /* without renegotiation, sending never waits for input */
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
    /* our buffer may move between two attempts */
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
}

int hf_tls_load(const char *store, char *errmsg, size_t size)
{
    return hf_openssl_load(store, errmsg, size);
}

/* A context with what the files have now. */
static int read_files(const struct hf_tls *tls, const struct complaint *complaint,
                      SSL_CTX **ret)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    int      r = HF_ENOMEM;

    if (context == NULL) {
        snprintf(complaint->text, complaint->size, "TLS: out of memory");
        goto fail;
    }
    configure(context);
    r = load_trust(context, tls->ca, complaint);
    if (r == 0)
        r = load_identity(context, tls, complaint);
    if (r < 0)
        goto fail;
    ERR_clear_error();
    *ret = context;
    return 0;
fail:
    SSL_CTX_free(context);
    ERR_clear_error();
    return r;
}

void hf_tls_reread(struct hf_tls *tls)
{
    char                   why[sizeof tls->bad - 4];
    const struct complaint complaint = { why, sizeof why };
    SSL_CTX               *context;

    tls->bad[0] = '\0';
    hf_low_take();
    int r = read_files(tls, &complaint, &context);
    hf_low_give();
    if (r < 0) {
        snprintf(tls->bad, sizeof tls->bad, " (%s)", why);
        return;
    }
    SSL_CTX_free(tls->context);
    tls->context = context;
}

static bool copy(const char *file, char **ret)
{
    if (file != NULL)
        *ret = strdup(file);
    return file == NULL || *ret != NULL;
}

int hf_tls_new(const struct hf_tls_options *options, char *errmsg, size_t size,
               struct hf_tls **ret)
{
    const struct complaint complaint = { errmsg, size };
    struct hf_tls         *tls = calloc(1, sizeof *tls);
    int                    r = HF_ENOMEM;

    snprintf(errmsg, size, "TLS: out of memory");
    if (tls == NULL || (tls->socket = hf_secure_method()) == NULL ||
        !copy(options->ca, &tls->ca) || !copy(options->cert, &tls->cert) ||
        !copy(options->key, &tls->key))
        goto fail;
    r = read_files(tls, &complaint, &tls->context);
    if (r < 0)
        goto fail;
    errmsg[0] = '\0';
    *ret = tls;
    return 0;
fail:
    hf_tls_free(tls);
    return r;
}

void hf_tls_free(struct hf_tls *tls)
{
    if (tls == NULL)
        return;
    SSL_CTX_free(tls->context);
    BIO_meth_free(tls->socket);
    free(tls->ca);
    free(tls->cert);
    free(tls->key);
    free(tls);
}
