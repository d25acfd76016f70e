/* reach.h - tells a user who waits or holds that the store cannot be reached.
 *
 * A process has one session at a time, so there is one of these.  What the library tells
 * from inside hf_process() is kept, and said when it has lasted for a moment.
 */
#ifndef REACH_H
#define REACH_H

#include <holdfast.h>

#include <stdbool.h>

/* A session begins. */
void reach_start(bool quiet);

/* The library's on_link. */
void reach_take(struct hf_client *client, enum hf_link link, const char *why, void *data);

/* Why it is not reached, for longer than a moment; else NULL. */
const char *reach_why(void);

/* Milliseconds until reach_show() has something to say; -1: nothing as it is. */
int reach_timeout_ms(void);

/* Say it, once for each time.  `lock`: what is at stake, or NULL. */
void reach_show(const struct hf_lock *lock);

#endif
