/* tls.h - TLS as a URL asks for it. */
#ifndef HF_REMOTE_TLS_H
#define HF_REMOTE_TLS_H

#include "net/tls.h"
#include "store/store.h"

/* By the parameters ca, cert and key.  Not `secure`: none is opened, and a URL that has
 * one of them is an error, with `advice`.  0, HF_EINVAL or HF_ENOMEM, see hf_tls_new(). */
int hf_remote_open_tls(const struct hf_config *config, bool secure, const char *advice,
                       char *errmsg, struct hf_tls **ret);

#endif
