/* name.h - names of locks.
 *
 * 1 to 255 bytes of UTF-8 without control characters, without '/', without "..", and
 * not "." alone.  So no name can be taken for a path, break a line of output, or change
 * from one store to another.
 */
#ifndef HF_NAME_H
#define HF_NAME_H

#include <stddef.h>
#include <stdint.h>

#define HF_NAME_MAX 255

/* NULL if `name` is fine, else what is wrong with it, as a clause: "is empty". */
const char *hf_name_fault(const char *name);

/* For hash tables. */
uint32_t hf_name_hash(const char *name);

/* Length of a UTF-8 sequence at `text`, 0 if it is not one. */
size_t hf_utf8_length(const char *text);

#endif
