/* random.h - unguessable ids from the kernel, and a seeded generator. */
#ifndef HF_RANDOM_H
#define HF_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* 64 random bits from the kernel; many of them take no longer than one. */
uint64_t hf_random(void);
void     hf_random_fill(uint64_t *ret, size_t count);

/* splitmix64: the next number of the sequence that `*state` stands for. */
uint64_t hf_random_next(uint64_t *state);

#endif
