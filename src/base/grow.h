/* grow.h - arrays that grow as they are filled. */
#ifndef HF_BASE_GROW_H
#define HF_BASE_GROW_H

#include <stddef.h>

/* The array with room for `need` elements, at least one, of `size` bytes each.  If it
 * has to grow, it gets more room than needed; `*room` is the number of elements.  NULL:
 * no memory; the array and its room are unchanged. */
void *hf_grow(void *array, size_t *room, size_t need, size_t size);

#endif
