/* no_memory.h - calloc() that fails on demand, for the one program that includes this. */
#ifndef HF_TEST_ZK_NO_MEMORY_H
#define HF_TEST_ZK_NO_MEMORY_H

#include <stdbool.h>
#include <stdlib.h>

static _Thread_local bool     no_memory;  /* every call fails */
static _Thread_local unsigned fail_every; /* one in so many calls fails; 0: none */
static _Thread_local unsigned fail_nth; /* the nth call from now on fails; 0: none does */

void *__libc_calloc(size_t count, size_t size);
void *__interceptor_calloc(size_t count, size_t size) __attribute__((weak));

void *calloc(size_t count, size_t size)
{
    static _Thread_local unsigned asked;

    if (no_memory || (fail_every > 0 && ++asked % fail_every == 0) ||
        (fail_nth > 0 && --fail_nth == 0))
        return NULL;
    return __interceptor_calloc != NULL ? __interceptor_calloc(count, size)
                                        : __libc_calloc(count, size);
}

#endif
