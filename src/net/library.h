/* library.h - libraries of others that are loaded when a URL needs them.
 *
 * Who uses the file store need not have libpq, hiredis or OpenSSL, nor wait for them and
 * all that they need at every start.  A file NAME.list names the functions that we use of
 * one of them; cmake/Load.cmake makes NAME.h of it.  Whoever includes that calls them as
 * ever.  They are in a table, and hf_NAME_load() fills that.  One that the list has as ?name
 * may be missing: HF_HAS(name) tells, before it is called.
 */
#ifndef HF_LIBRARY_H
#define HF_LIBRARY_H

#include <stddef.h>

struct hf_library {
    const char        *file;    /* the name that programs look for: "libpq.so.5" */
    const char        *package; /* of Debian: "libpq5" */
    const char *const *names;   /* of the functions; "?name" may be missing */
    size_t             count;
};

#ifdef HF_LINK_STORES
#define HF_HAS(function) true
#else
#define HF_HAS(function) ((function) != NULL)
#endif

/* Load the library, unless *table is set, and set that: to `count` addresses of functions, for
 * ever.  Any thread may call it, also while others do; one that forks waits for it.  `store` is who needs it, by the
 * scheme of its URL.
 *
 * 0, HF_ENOTFOUND, or HF_ENOMEM or HF_ESTORE for what the system lacks, and `errmsg` tells a
 * person what to install or do.  It may be tried again. */
int hf_library_load(const struct hf_library *library, void **table, const char *store,
                    char *errmsg, size_t size);

#endif
