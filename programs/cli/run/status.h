/* status.h - --status-fd: a line of JSON for each event of a lock.
 *
 * docs/status-fd.md is the protocol, and others rely on it.  The events, in order:
 *
 *     waiting --> place... -+-> held --> renewed, asked... -+-> released
 *        ^                  |                               +-> lost
 *        |                  +-> failed                      |
 *        |                        |                         |
 *        +--- elect, once more ---+-------------------------+
 *
 * There is one reader, as there is one lock in this process, so its state is static.
 * Without --status-fd all of these do nothing.
 */
#ifndef STATUS_H
#define STATUS_H

#include "cli_options.h"

#include <holdfast.h>

#include <poll.h>

/* 0, or an exit code after having complained. */
int status_open(const struct args *args);

/* The descriptor that is written to; 0: none. */
int status_fd(void);

void status_waiting(void);

/* The library's on_place; it is called only after hf_set_follow(). */
void status_place(struct hf_lock *lock, int64_t ahead, void *data);

/* It was not acquired; `text` tells a person why. */
void status_failed(int why, const char *text);

void status_held(struct hf_lock *lock);
void status_asked(const char *reason);

/* After status_held() the first of these two counts; `result` is that of hf_release(). */
void status_lost(void);
void status_released(int result);

/* In each turn of a loop: poll status_poll(), then call status_turn().  It writes lines
 * that could not be written before, and reports that `lock`, if it is held, was
 * renewed. */
struct pollfd status_poll(void);
void          status_turn(struct hf_lock *lock);

/* At the very end: wait a moment for the reader to take the last lines. */
void status_finish(void);

#endif
