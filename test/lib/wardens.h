/* wardens.h - the wardens that a test and its children have started; see HF_WARDEN. */
#ifndef HF_TEST_WARDENS_H
#define HF_TEST_WARDENS_H

#include <stddef.h>
#include <sys/types.h>

/* Mark those that are started from now on.  First in main(). */
void wardens_start(void);

/* The command of the same build. */
const char *wardens_program(void);

/* A script to name instead of it, in a file that is to be unlinked.  `path`: WARDENS_PATH_MAX. */
#define WARDENS_PATH_MAX 128
void wardens_script(const char *text, char *path);

/* How many there are; the process of one, or 0. */
size_t wardens_count(void);
pid_t  wardens_one(void);

/* Until there are so many; the test fails if that takes long. */
void wardens_await(size_t count);

#endif
