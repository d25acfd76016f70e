/* grow.h - arrays that grow as they are filled. */
#ifndef HF_BASE_GROW_H
#define HF_BASE_GROW_H

#include <stddef.h>

/* The array with room for `need` elements, one at least, of `size` bytes each.  Where it has
 * to move, it is given room for more than that, and `*room` says for how many.  NULL: no
 * memory; the array and its room are then as they were. */
void *hf_grow(void *array, size_t *room, size_t need, size_t size);

#endif
