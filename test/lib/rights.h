/* rights.h - this program again, as one with more rights than its caller. */
#ifndef HF_TEST_RIGHTS_H
#define HF_TEST_RIGHTS_H

/* Run a set-user-ID copy of this program with one argument, called by nobody with the
 * environment that this one has.  Returns its exit code; -1: that cannot be done here. */
int rights_run(const char *argument);

#endif
