/* origin.h - finds programs that were installed together with this library. */
#ifndef HF_ORIGIN_H
#define HF_ORIGIN_H

#include <limits.h>
#include <stdbool.h>

/* Find a program in `folder`, a path relative to the folder of the file that this code
 * was loaded from: the shared library, or the program that it is linked into.  argv[0],
 * the environment and the working directory do not matter.
 *
 * The program must be owned by root, by this user or by the owner of that file: the
 * file may be in a folder such as /tmp, where anybody can create another one. */
bool hf_origin_find(const char *folder, const char *program, char ret[PATH_MAX]);

#endif
