/* shelter.h - a thread that comes again for a name it already holds.
 *
 * A second handle on the same name is a second place in line, and the thread
 * would wait for itself, if only for a writer that waits in between.  Where the
 * new wish is to read, and what is held is a reader or a writer, the new handle
 * needs no place: it lives under the one that is held, its host.  A host that is
 * released before its guests lends them its place, lessened to a reader's: that
 * is how a writer goes on reading.  Every other wish that could never be granted
 * is an error at once.
 */
#ifndef HF_SHELTER_H
#define HF_SHELTER_H

#include "client/client.h"

struct hf_shelter {
    struct hf_lock *host;   /* of a GUEST, and of no other */
    unsigned        guests; /* how many are under this one: BOUND or LENT */
    uint64_t        token;  /* LENT: of the place that was lent */
};

/* All with the mutex held. */

/* A thread has it from now on, or has it no longer: that is how hf_shelter_find() knows what
 * the thread holds, without a look at every other handle. */
void hf_shelter_note(struct hf_lock *lock, bool had);

/* 1: granted under another lock, or taken back from its guests; 0: nothing of the
 * kind, go to the store; HF_EBUSY, HF_EDEADLOCK: it would wait for itself. */
int hf_shelter_find(struct hf_lock *lock, bool once);

/* BOUND -> LENT: released, but there are guests: leave them the place. */
void hf_shelter_lend(struct hf_lock *host);

/* GUEST -> FREE.  Returns the host if that was the last of its guests and it had lent
 * its place: it is ENDING.  Else NULL. */
struct hf_lock *hf_shelter_leave(struct hf_lock *guest);

/* It is no longer held: its guests are lost, GUEST -> FALLEN. */
void hf_shelter_fall(struct hf_lock *host);

/* After a turn: has a place that was lent been lost?  Then it is ENDING. */
bool hf_shelter_lost(struct hf_lock *host);

#endif
