/* guardians.h - finds the guardians that a test and its children have started; see
 * HF_GUARDIAN. */
#ifndef HF_TEST_GUARDIANS_H
#define HF_TEST_GUARDIANS_H

#include <stddef.h>
#include <sys/types.h>

/* Mark those that start from now on.  Call first in main(). */
void guardians_start(void);

/* The command of the same build. */
const char *guardians_program(void);

/* Write a script to run in its place; unlink the file afterwards. */
#define GUARDIANS_PATH_MAX 128
void guardians_script(const char *text, char *path);

/* How many run; the process of one of them, or 0. */
size_t guardians_count(void);
pid_t  guardians_one(void);

/* Wait until `count` run; the test fails if that takes long. */
void guardians_await(size_t count);

#endif
