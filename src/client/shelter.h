/* shelter.h - a thread that comes again for a name it already holds.
 *
 * A second handle on the same name is a second place in line, and the thread
 * would wait for itself.  Where the new wish is to read, and what is held is a
 * reader or a writer, the new handle needs no place: it lives under the one that
 * is held.  Everything else that could never be granted is an error at once.
 */
#ifndef HF_SHELTER_H
#define HF_SHELTER_H

#include "client/lock.h"

/* All with the mutex held. */

/* 1: granted under another lock; 0: nothing of the kind, go and ask the store;
 * HF_EBUSY, HF_EDEADLOCK: it would wait for itself. */
int hf_shelter_find(struct hf_lock *lock, bool once);

/* Give up the place under another, if it is one. */
void hf_shelter_leave(struct hf_lock *lock);

/* It is no longer held: what was under it is lost. */
void hf_shelter_fall(struct hf_lock *lock);

#endif
