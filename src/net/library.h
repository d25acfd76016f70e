/* library.h - libraries of others that are loaded when a URL needs them.
 *
 * Who uses the file store need not have libpq, hiredis or OpenSSL, nor wait for them and
 * all that they need at every start.  A file NAME.list names the functions that we use of
 * one of them; cmake/Load.cmake makes NAME.h of it.  Whoever includes that calls them as
 * ever.  They are in a table, and hf_NAME_load() fills that.
 */
#ifndef HF_LIBRARY_H
#define HF_LIBRARY_H

#include <stddef.h>

struct hf_library {
    const char        *file;    /* the name that programs look for: "libpq.so.5" */
    const char        *package; /* of Debian: "libpq5" */
    const char *const *names;   /* of the functions */
    size_t             count;
};

/* Load the library, unless *table is set, and set that: to `count` addresses of functions, for
 * ever.  Any thread may call it, also while others do.  `store` is who needs it, by the
 * scheme of its URL.
 *
 * 0, HF_ENOTFOUND or HF_ENOMEM, and `errmsg` tells a person what to install.  It may be
 * tried again. */
int hf_library_load(const struct hf_library *library, void **table, const char *store,
                    char *errmsg, size_t size);

#endif
