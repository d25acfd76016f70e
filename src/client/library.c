/* library.c - calls that need no client: the version, the stores, their libraries and
 * SQL. */
#include "client/url.h"
#include "holdfast.h"

#include <pthread.h>
#include <stdio.h>

const char *hf_version(void)
{
#define STRING(x)        #x
#define VERSION(a, b, c) STRING(a) "." STRING(b) "." STRING(c)
    return VERSION(HF_VERSION_MAJOR, HF_VERSION_MINOR, HF_VERSION_PATCH);
#undef VERSION
#undef STRING
}

const char *hf_stores(void)
{
    return hf_store_schemes();
}

int hf_schema(const char *scheme, const char *role, char **ret)
{
    if (scheme == NULL || ret == NULL)
        return HF_EINVAL;
    return hf_store_schema(hf_url_scheme(scheme), role, ret);
}

static int load_for(const char *text, char *errmsg)
{
    struct hf_url url;

    int r = hf_url_parse(text, &url, errmsg);
    if (r < 0)
        return r;
    r = hf_store_load(&url.config, errmsg);
    hf_url_finish(&url);
    return r;
}

int hf_load(const char *url, char *error, size_t error_size)
{
    char errmsg[HF_ERRMSG_MAX] = "out of memory";
    int  cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int r = load_for(url, errmsg);
    pthread_setcancelstate(cancel, &cancel);
    if (r < 0 && error != NULL && error_size > 0)
        snprintf(error, error_size, "%s", errmsg);
    return r;
}
