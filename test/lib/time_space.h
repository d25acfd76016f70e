/* time_space.h - a process for which BOOTTIME is ahead of MONOTONIC, as on a machine that
 * was suspended. */
#ifndef HF_TEST_TIME_SPACE_H
#define HF_TEST_TIME_SPACE_H

/* Run `body` in such a process, 1,000 seconds ahead, and return what it returns, 0 to 100;
 * -1 if the kernel does not let us: only root may. */
int time_space_run(int (*body)(void));

#endif
