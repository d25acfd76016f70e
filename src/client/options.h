/* options.h - structs that a program sets and tells the size of. */
#ifndef HF_CLIENT_OPTIONS_H
#define HF_CLIENT_OPTIONS_H

#include "holdfast.h"

/* Copy `given`, a struct that starts with its size, to `ret`, which has defaults in its
 * `known` bytes.  A program built with an older header has a shorter struct: the rest stays
 * as it is.  With a newer header it is longer: what we do not know must be zero, or
 * nobody would do what it asks for.  `init` is the macro to start from.  HF_EINVAL with
 * the reason in `errmsg`; as far as the size makes sense, `ret` has what is known. */
int hf_options_copy(const void *given, size_t known, const char *init, void *ret,
                    char *errmsg);

/* Those of hf_open(), checked.  HF_EINVAL with the reason in `errmsg`; where to write it,
 * ret->error, is set all the same, if that is known. */
int hf_options_read(const struct hf_options *given, struct hf_options *ret, char *errmsg);

#endif
