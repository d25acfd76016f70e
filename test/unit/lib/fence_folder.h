/* fence_folder.h - a temporary folder for tests of hf_fence_file(), and files in it. */
#ifndef HF_TEST_FENCE_FOLDER_H
#define HF_TEST_FENCE_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int fence_setup(void **state);
int fence_teardown(void **state);

/* The path of a file in the folder; until the next call but three. */
const char *fence_path(const char *name);

/* Its text, until the next call; "(none)" if it cannot be read.  And writing one. */
const char *fence_read(const char *name);
void        fence_put(const char *name, const char *text);

/* hf_fence_file() of a file in the folder, and its message. */
extern char fence_said[512];
int         fence_try(const char *name, uint64_t token, int64_t timeout_ms);

void fence_assert_claims(const char *name, uint64_t token);
void fence_assert_says(const char *words);

/* Mount a small disk on the folder, which only this process sees.  False: not allowed. */
#define FENCE_NO_MOUNTS 77
bool fence_mount_disk(const char *size);

#endif
