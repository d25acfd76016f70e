/* setuid_copy.h - runs this program again with more rights than its caller. */
#ifndef HF_TEST_SETUID_COPY_H
#define HF_TEST_SETUID_COPY_H

/* Run a set-user-ID copy of this program with one argument and the same environment, as
 * the user `nobody`.  Returns its exit code; -1: impossible here. */
int setuid_copy_run(const char *argument);

#endif
