/* url.h - "sqlite:/var/lib/x/locks.db?force=1" taken apart. */
#ifndef HF_URL_H
#define HF_URL_H

#include "store/store.h"

#define HF_URL_PARAMS 16

struct hf_url {
    struct hf_config config; /* points into what follows */
    struct hf_param  param[HF_URL_PARAMS];
    char            *text;
    size_t           size;  /* of text, NUL included: what is wiped at the end */
    char            *given; /* likewise */
    char            *shown;
};

/* Parse `url`, or for NULL or "" the default one.  On failure `errmsg`
 * (HF_ERRMSG_MAX bytes) says what to write instead; `ret` needs no finish. */
int  hf_url_parse(const char *url, struct hf_url *ret, char *errmsg);
void hf_url_finish(struct hf_url *url);

/* The scheme of the store that is used: that of system: is sqlite, every other is its own. */
const char *hf_url_scheme(const char *scheme);

/* The URL without passwords, as it may be shown; free it.  NULL: no memory. */
char *hf_url_shown(const char *url);

/* May part of it be a password that was not written as a URL wants it?  Then it can be
 * read in two ways: nothing of it may be shown, and it is not used. */
bool hf_url_is_dubious(const char *url);

#endif
