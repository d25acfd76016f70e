/* crash.h - restores the terminal after a crash, too.
 *
 * The signal handlers write a prepared string, reset the terminal, and let the process die of
 * the same signal: all of that is allowed in a handler.  A signal that already has a handler, as
 * with sanitizers, is left alone.
 */
#ifndef CRASH_H
#define CRASH_H

/* Save the settings of the terminal. */
void crash_prepare(int fd);

/* Install the handlers.  The strings reset the terminal; each may be NULL. */
void crash_arm(const char *plain, const char *cursor, const char *keypad,
               const char *screen);
void crash_disarm(void);

#endif
