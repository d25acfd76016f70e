/* url.h - parses a store URL, as "sqlite:/var/lib/x/locks.db?force=1". */
#ifndef HF_URL_H
#define HF_URL_H

#include "store/store.h"

#define HF_URL_PARAMS 16

struct hf_url {
    struct hf_config config; /* points into what follows */
    struct hf_param  param[HF_URL_PARAMS];
    char            *text;
    size_t           size; /* of text and given, NUL included: wiped at the end */
    char            *given;
    char            *shown;
};

/* Parse `url`, or for NULL the default one.  On failure `errmsg`
 * (HF_ERRMSG_MAX bytes) says what to write instead; `ret` needs no finish. */
int  hf_url_parse(const char *url, struct hf_url *ret, char *errmsg);
void hf_url_finish(struct hf_url *url);

/* The scheme of the store behind a scheme: sqlite for system, else the same. */
const char *hf_url_scheme(const char *scheme);

/* The URL without passwords, for messages; free it.  NULL: no memory. */
char *hf_url_shown(const char *url);

/* May it contain a password that was not escaped?  Such a URL can be read in two ways:
 * it is refused, and nothing of it is shown. */
bool hf_url_is_dubious(const char *url);

#endif
