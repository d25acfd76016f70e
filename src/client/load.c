/* load.c - hf_load(): what a store needs of the machine's libraries, before it is opened. */
#include "client/url.h"
#include "holdfast.h"

#include <pthread.h>
#include <stdio.h>

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
