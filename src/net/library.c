/* library.c - see library.h.
 *
 * dlopen() holds a lock.  A child forked meanwhile would find it taken for ever, and
 * hang or die in its next dlopen().  So nobody may fork meanwhile.  Two threads may
 * load the same library at once: both get the same addresses, and the first table
 * stays.  No library is ever unloaded: OpenSSL, for one, registers an exit handler.
 */
#include "net/library.h"

#include "base/fork.h"
#include "holdfast.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some libraries call pthread_atfork() while they are loaded.  Before glibc 2.36 that
 * waits for a thread that is forking, which would wait for us: a deadlock. */
#ifdef __GLIBC_PREREQ
#define FORKS_WAIT __GLIBC_PREREQ(2, 36)
#else
#define FORKS_WAIT false
#endif

/* The loader's message ends with strerror(), in the user's language. */
static bool tells_of(const char *error, int number)
{
    const char *text = strerror(number);
    size_t      length = strlen(error), end = strlen(text);

    return length >= end && strcmp(error + length - end, text) == 0;
}

/* Is it the library itself that was not found?  The loader names it as we did only if
 * it could not open it; otherwise it gives a path, or names a dependency. */
static bool is_absent(const char *file, const char *error)
{
    size_t length = strlen(file);

    return strncmp(error, file, length) == 0 && error[length] == ':' &&
           tells_of(error, ENOENT);
}

static int say_not_loaded(const struct hf_library *library, const char *store,
                          const char *error, char *errmsg, size_t size)
{
    if (error == NULL)
        error = "unknown reason";
    if (tells_of(error, EMFILE) || tells_of(error, ENFILE)) {
        snprintf(errmsg, size,
                 "%s: no descriptor left to load %s; raise the limit (ulimit -n)", store,
                 library->file);
        return HF_ESTORE;
    }
    if (is_absent(library->file, error))
        snprintf(errmsg, size, "%s: needs %s, which is not installed: install %s", store,
                 library->file, library->package);
    else
        snprintf(errmsg, size, "%s: needs %s (package %s), which cannot be loaded: %s",
                 store, library->file, library->package, error);
    return HF_ENOTFOUND;
}

static int find_functions(const struct hf_library *library, void *handle, void **table,
                          const char *store, char *errmsg, size_t size)
{
    for (size_t i = 0; i < library->count; i++) {
        bool        optional = library->names[i][0] == '?';
        const char *name = library->names[i] + optional;
        table[i] = dlsym(handle, name);
        if (table[i] == NULL && !optional) {
            snprintf(errmsg, size, "%s: %s has no %s(): another version is needed", store,
                     library->file, name);
            return HF_ENOTFOUND;
        }
    }
    return 0;
}

static int open_library(const struct hf_library *library, void **table, const char *store,
                        char *errmsg, size_t size)
{
    /* RTLD_LOCAL: the program may use another version of its own */
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);

    if (handle == NULL)
        return say_not_loaded(library, store, dlerror(), errmsg, size);
    return find_functions(library, handle, table, store, errmsg, size);
}

int hf_library_load(const struct hf_library *library, void **table, const char *store,
                    char *errmsg, size_t size)
{
    void *none = NULL;

    assert(library->count > 0);
    if (__atomic_load_n(table, __ATOMIC_ACQUIRE) != NULL)
        return 0;
    void **found = calloc(library->count, sizeof *found);
    if (found == NULL) {
        snprintf(errmsg, size, "out of memory");
        return HF_ENOMEM;
    }
    if (FORKS_WAIT)
        hf_fork_pause();
    int r = open_library(library, found, store, errmsg, size);
    if (FORKS_WAIT)
        hf_fork_resume();
    if (r < 0 || !__atomic_compare_exchange_n(table, &none, found, false,
                                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        free(found);
    return r;
}
