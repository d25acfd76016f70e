/* library.c - see library.h.
 *
 * Nothing is locked, for a fork could catch it locked.  Two threads may load the same
 * library at once: the loader knows it by its name, so both get the same addresses, and the
 * table of the first one stays.  No library is ever unloaded: OpenSSL, for one, wants to
 * be called when the program ends.
 */
#include "net/library.h"

#include "holdfast.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The loader names a file as it was asked for only if it did not find it; else by its path,
 * or it names another one that this one needs. */
static bool is_absent(const char *file, const char *error)
{
    size_t length = strlen(file);

    return strncmp(error, file, length) == 0 && error[length] == ':';
}

static int say_not_loaded(const struct hf_library *library, const char *store,
                          const char *error, char *errmsg, size_t size)
{
    if (error == NULL)
        error = "unknown reason";
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
        table[i] = dlsym(handle, library->names[i]);
        if (table[i] == NULL) {
            snprintf(errmsg, size, "%s: %s has no %s(): another version is needed", store,
                     library->file, library->names[i]);
            return HF_ENOTFOUND;
        }
    }
    return 0;
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
    /* Not for all to see: the program may have another version of its own. */
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    int   r = handle != NULL ? find_functions(library, handle, found, store, errmsg, size)
                             : say_not_loaded(library, store, dlerror(), errmsg, size);
    if (r < 0 || !__atomic_compare_exchange_n(table, &none, found, false,
                                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        free(found);
    return r;
}
