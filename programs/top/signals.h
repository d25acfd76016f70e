/* signals.h - signals by a descriptor to poll. */
#ifndef SIGNALS_H
#define SIGNALS_H

/* Block SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT and SIGWINCH, and return a
 * descriptor that reports them; -1 with errno. */
int signals_open(void);

/* The next signal; 0: there is none. */
int signals_read(int fd);

/* Stop the process, as Ctrl-Z does; returns when it goes on. */
void signals_stop(void);

/* Die of that signal. */
void signals_die(int number);

#endif
