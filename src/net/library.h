/* library.h - third-party libraries, loaded when a URL needs them.
 *
 * Users of the file store need not have libpq, hiredis or OpenSSL, nor spend the time
 * to load them at every start.  A file NAME.list lists the functions that we use of one
 * of them, and cmake/Load.cmake generates NAME.h from it.  Code that includes NAME.h
 * calls them as usual, through a table that hf_NAME_load() fills.  A function listed as
 * ?name may be missing: check HF_HAS(name) before calling it.
 */
#ifndef HF_LIBRARY_H
#define HF_LIBRARY_H

#include <stddef.h>

struct hf_library {
    const char        *file;    /* its soname: "libpq.so.5" */
    const char        *package; /* Debian's: "libpq5" */
    const char *const *names;   /* of the functions; "?name" may be missing */
    size_t             count;
};

#ifdef HF_LINKED
#define HF_HAS(function) true
#else
#define HF_HAS(function) ((function) != NULL)
#endif

/* Load the library, unless *table is set already, and set that to an array of `count`
 * function addresses, valid for ever.  Thread-safe; a thread that forks waits for it.
 * `store`: the URL scheme of the store that needs it.
 *
 * 0; HF_ENOTFOUND; HF_ENOMEM or HF_ESTORE if the system is out of something.  `errmsg`
 * says what to install or do.  The call may be repeated. */
int hf_library_load(const struct hf_library *library, void **table, const char *store,
                    char *errmsg, size_t size);

#endif
