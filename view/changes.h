/* changes.h - what happened to a line, told by comparing two looks at it.
 *
 *     entered    somebody queues        left       a waiter gave up
 *     granted    somebody has it        released   a holder no longer has it
 *
 * What came and went between the two looks is not seen, nor whether a holder gave the lock
 * back or lost it.
 */
#ifndef CHANGES_H
#define CHANGES_H

#include <holdfast.h>

/* `before` NULL: nobody was in it.  The ends come first: a grant follows from the end
 * before it. */
void changes_tell(const struct hf_report *before, const struct hf_report *after,
                  void (*tell)(const char *what, const struct hf_entry *entry,
                               void *data),
                  void *data);

#endif
