/* tls.c - see tls.h. */
#include "store/remote/tls.h"

#include "store/param.h"

#include <assert.h>

int hf_remote_open_tls(const struct hf_config *config, bool secure, const char *advice,
                       char *errmsg, struct hf_tls **ret)
{
    struct hf_tls_options options = { .ca = hf_config_get(config, "ca"),
                                      .cert = hf_config_get(config, "cert"),
                                      .key = hf_config_get(config, "key") };
    const char           *given = options.ca     ? "ca"
                                  : options.cert ? "cert"
                                  : options.key  ? "key"
                                                 : NULL;

    assert(advice != NULL);
    if (secure)
        return hf_tls_new(&options, errmsg, HF_ERRMSG_MAX, ret);
    return given == NULL
               ? 0
               : hf_param_complain(errmsg, "no TLS, so no use for", given, advice);
}
