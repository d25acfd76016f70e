/* reach.h - tells a user who waits or holds that the store cannot be reached.
 *
 * A process has one session at a time, so there is one of these.  What the library tells
 * from inside hf_process() is kept, and said when it has lasted for a moment.
 */
#ifndef REACH_H
#define REACH_H

#include <holdfast.h>

#include <stdbool.h>

/* A session begins.  `endless`: the user gave no limit for the wait, and may want to know how. */
void reach_start(bool quiet, bool endless);

/* The library's on_link. */
void reach_take(struct hf_client *client, enum hf_link link, const char *why, void *data);

/* Why it is not reached, for longer than a moment; else NULL. */
const char *reach_why(void);

/* What is done about it, as the end of a sentence. */
const char *reach_again(void);

/* Milliseconds until reach_show() has something to say; -1: nothing as it is. */
int reach_timeout_ms(void);

/* Say it, once for each time.  `lock`: what is at stake, or NULL. */
void reach_show(const struct hf_lock *lock);

#endif
