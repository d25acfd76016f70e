/* fence.h - the resource that a lock protects: a file that refuses old tokens. */
#ifndef HF_TEST_CHAOS_FENCE_H
#define HF_TEST_CHAOS_FENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Opens it for a lock; -1: it cannot be opened. */
int fence_open(const char *folder, const char *lock);

/* Write under `token`.  Returns whether that was accepted: if no higher token has been there
 * before.  *ret_number counts what was accepted or refused, in that order. */
bool fence_write(int fd, uint64_t token, uint64_t *ret_number);

/* The same; and `from` takes the place of `to` if it was accepted. */
bool fence_rename(int fd, uint64_t token, uint64_t *ret_number, const char *from,
                  const char *to);

#endif
