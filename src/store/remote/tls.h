/* tls.h - TLS as the URL asks for it. */
#ifndef HF_REMOTE_TLS_H
#define HF_REMOTE_TLS_H

#include "net/tls.h"
#include "store/store.h"

/* Open TLS with the URL's parameters ca, cert and key.  Not `secure`: do not, and
 * complain with `advice` if the URL has one of them.  0, HF_EINVAL or HF_ENOMEM, see
 * hf_tls_new(). */
int hf_remote_open_tls(const struct hf_config *config, bool secure, const char *advice,
                       char *errmsg, struct hf_tls **ret);

#endif
