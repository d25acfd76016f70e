/* signals.h - signals as something to poll. */
#ifndef SIGNALS_H
#define SIGNALS_H

/* Block SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT and SIGWINCH, and return a
 * descriptor that tells of them; -1: errno tells. */
int signals_open(void);

/* The next one, 0: there is none. */
int signals_read(int fd);

/* Stop, as Ctrl-Z wants it; returns when the process goes on. */
void signals_stop(void);

/* Die of it. */
void signals_die(int number);

#endif
