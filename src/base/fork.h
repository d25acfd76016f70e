/* fork.h - descriptors that a forked child must not keep, and numbers that we never use.
 *
 * A kernel lock belongs to an open file description, and fork() shares those: a child
 * that keeps one open keeps the locks of its dead parent.  Descriptors on this list are
 * closed in every child, right after fork().
 *
 * No thread may fork between opening a descriptor and putting it on the list, nor
 * between taking it off and closing it:
 *
 *     hf_fork_pause();
 *     int fd = hf_fork_adopt(open(...));
 *     ...
 *     hf_fork_close(fd);
 *
 * No descriptor of ours is 0, 1 or 2: a program that has closed its stderr would write
 * its next warning to our file or server.  The kernel gives the lowest free number to
 * SQLite, libpq and getaddrinfo() as well as to us.  So descriptors are opened only
 * while these three are taken: from pause() to resume() or, where forks need not wait,
 *
 *     hf_low_take();
 *     int fd = eventfd(...);
 *     hf_low_give();
 */
#ifndef HF_FORK_H
#define HF_FORK_H

/* A number that changes in every child, also in one of _Fork() or clone(), which run no
 * fork handlers.  Compare it with the one remembered in hf_open() to learn whether this
 * is a child. */
unsigned hf_fork_generation(void);

/* A thread that forks waits from pause() to resume(), so keep that short.  The calling
 * thread cannot be canceled in between. */
void hf_fork_pause(void);
void hf_fork_resume(void);

/* Keep 0 to 2 occupied for a while, if they are free; in any number of threads.  The
 * placeholders can be neither read nor written, like closed descriptors, and a
 * descriptor that the program puts there itself stays.  Both keep errno. */
void hf_low_take(void);
void hf_low_give(void);

/* While paused: put `fd` on the list (0 or HF_ENOMEM); take it off. */
int  hf_fork_guard(int fd);
void hf_fork_unguard(int fd);

/* Guard `fd`, then resume.  Returns `fd`.  If `fd` is negative: -1, with errno unchanged.
 * Out of memory: -1, errno is ENOMEM, and `fd` is closed. */
int hf_fork_adopt(int fd);

/* Take `fd` off the list and close it, with no fork in between. */
void hf_fork_close(int fd);

#endif
