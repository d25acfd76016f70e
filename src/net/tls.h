/* tls.h - shared by all TLS streams to one server: trusted certificates, and our own.
 *
 * TLS 1.2 or later; the server's certificate and its name are always verified.
 */
#ifndef HF_TLS_H
#define HF_TLS_H

#include <stddef.h>

struct hf_tls;

struct hf_tls_options {
    const char *ca;   /* file of certificates to trust; NULL: the system's */
    const char *cert; /* our own certificate chain, PEM; NULL: none */
    const char *key;  /* its private key; NULL: in `cert` */
};

/* Load OpenSSL; see net/library.h. */
int hf_tls_load(const char *store, char *errmsg, size_t size);

/* After that: 0, HF_EINVAL or HF_ENOMEM; `errmsg` says which file and why.  The files
 * are read here, and again for each stream: certificates are renewed while programs run.
 * A file that cannot be used then changes nothing.  A key that needs a passphrase is
 * refused, since we do not prompt. */
int hf_tls_new(const struct hf_tls_options *options, char *errmsg, size_t size,
               struct hf_tls **ret);

/* Once all its streams are closed. */
void hf_tls_free(struct hf_tls *tls);

#endif
