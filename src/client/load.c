/* load.c - hf_load(): what a store needs of the machine's libraries, before it is opened. */
#include "client/url.h"
#include "holdfast.h"

#include <pthread.h>

static int load_for(const char *text)
{
    struct hf_url url;
    char          errmsg[HF_ERRMSG_MAX]; /* hf_open() tells the same */

    int r = hf_url_parse(text, &url, errmsg);
    if (r < 0)
        return r;
    r = hf_store_load(&url.config, errmsg);
    hf_url_finish(&url);
    return r;
}

int hf_load(const char *url)
{
    int cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int r = load_for(url);
    pthread_setcancelstate(cancel, &cancel);
    return r;
}
