/* random.h - unguessable ids from the kernel, and a seeded generator. */
#ifndef HF_RANDOM_H
#define HF_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* 64 random bits from the kernel, or several times as many in one call. */
uint64_t hf_random(void);
void     hf_random_fill(uint64_t *ret, size_t count);

/* splitmix64: the next number of a sequence, whose seed and state is `*state`. */
uint64_t hf_random_next(uint64_t *state);

#endif
