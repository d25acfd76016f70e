/* origin.h - what was installed together with this library. */
#ifndef HF_ORIGIN_H
#define HF_ORIGIN_H

#include <limits.h>
#include <stdbool.h>

/* Find a program in a folder, which is relative to that of the file that this code was loaded
 * from: the shared library, or the program that it is linked into.  Neither argv[0] nor the environment nor
 * the working directory leads elsewhere.
 *
 * A program that neither root, nor this user, nor the owner of that file owns is not
 * found: the file may lie in a folder such as /tmp, where anybody can put one beside it. */
bool hf_origin_find(const char *folder, const char *program, char ret[PATH_MAX]);

#endif
