/* fork.h - descriptors: what a forked child must not keep, and which numbers are not ours.
 *
 * A kernel lock belongs to an open file description, and fork() shares those:
 * a child that keeps one keeps its dead parent's locks.  Descriptors on this
 * list are closed in every child, right after fork().
 *
 * Nobody may fork between opening a descriptor and putting it on the list, nor
 * between taking it off and closing it:
 *
 *     hf_fork_pause();
 *     int fd = hf_fork_adopt(open(...));
 *     ...
 *     hf_fork_close(fd);
 *
 * No descriptor of ours is 0, 1 or 2: a program that has closed its stderr would write its
 * next warning to our file or server.  The kernel gives out the lowest number that is free,
 * to SQLite, libpq and getaddrinfo() as to us.  So whatever opens a descriptor does it while
 * these three are taken: from pause() to resume(), or, where forks need not wait,
 *
 *     hf_low_take();
 *     int fd = eventfd(...);
 *     hf_low_give();
 */
#ifndef HF_FORK_H
#define HF_FORK_H

/* A number that is different in every process of a fork()ed family.  Compare
 * with the one remembered at open to learn whether we are a child. */
unsigned hf_fork_generation(void);

/* A thread that forks waits from pause() to resume(): a moment only.  The calling thread
 * is not canceled in between. */
void hf_fork_pause(void);
void hf_fork_resume(void);

/* Leave none of 0 to 2 free for a while; in as many threads as like.  What takes them can be
 * neither read nor written, as if they were still closed, and if the program puts something
 * there itself, that stays.  Both keep errno. */
void hf_low_take(void);
void hf_low_give(void);

/* While paused: put `fd` on the list (0 or HF_ENOMEM); take it off. */
int  hf_fork_guard(int fd);
void hf_fork_unguard(int fd);

/* Guard, then resume.  Returns `fd`, or -1 with errno: as it was if `fd` is
 * negative; else ENOMEM, and `fd` is closed. */
int hf_fork_adopt(int fd);

/* Take `fd` off the list and close it, with no fork in between. */
void hf_fork_close(int fd);

#endif
