/* random.h - unguessable ids from the kernel, and a seeded generator. */
#ifndef HF_RANDOM_H
#define HF_RANDOM_H

#include <stdint.h>

/* 64 random bits from the kernel. */
uint64_t hf_random(void);

/* splitmix64: the next number of the sequence that `*state` stands for. */
uint64_t hf_random_next(uint64_t *state);

#endif
