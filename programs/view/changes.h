/* changes.h - finds out what happened to a lock by comparing two reports about it.
 *
 *     entered    a client queues           left       a waiter gave up
 *     granted    a client holds it         released   a holder no longer has it
 *
 * A client that came and went between the two reports is missed.  "released" may also mean that
 * the holder lost the lock.
 */
#ifndef CHANGES_H
#define CHANGES_H

#include <holdfast.h>

/* Calls `tell` for each change.  `before` NULL: the queue was empty.  Clients that left come
 * first, because a grant follows from them. */
void changes_tell(const struct hf_report *before, const struct hf_report *after,
                  void (*tell)(const char *what, const struct hf_entry *entry,
                               void *data),
                  void *data);

#endif
