/* grow.c - see grow.h. */
#include "base/grow.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#define ROOM_MIN 16

void *hf_grow(void *array, size_t *room, size_t need, size_t size)
{
    assert(need > 0 && size > 0);
    assert((array == NULL) == (*room == 0)); /* `room` belongs to this array */
    if (need <= *room)
        return array;

    size_t larger = need > *room * 2 ? need : *room * 2; /* at least twice as large */
    if (larger < ROOM_MIN)
        larger = ROOM_MIN;
    void *grown = larger <= SIZE_MAX / size ? realloc(array, larger * size) : NULL;
    if (grown != NULL)
        *room = larger;
    return grown;
}
