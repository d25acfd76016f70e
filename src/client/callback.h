/* callback.h - the queue of callbacks.
 *
 * A queued callback is a copy of everything that the call needs: once the mutex is
 * released, the lock may change.  Callbacks run one at a time, in the keeper or in
 * hf_process(), and without the mutex.
 */
#ifndef HF_CALLBACK_H
#define HF_CALLBACK_H

#include "client/client.h"

/* All but deliver(): with the mutex held. */

/* Queue on_state, on_ask, on_place, on_link.  Texts are copied. */
void hf_callback_state(struct hf_lock *lock, enum hf_state state, int why);
void hf_callback_ask(struct hf_lock *lock, const char *reason);
void hf_callback_place(struct hf_lock *lock, int64_t ahead);
void hf_callback_link(struct hf_client *client, enum hf_link link, const char *why);

/* Queue the callback of a lock watch.  Takes the report over, unless it fails. */
int hf_callback_report(struct hf_lock_watch *watch, struct hf_report *report);

/* Queue on_queue of a store watch, or on_round if `line` is NULL.  Takes the report over,
 * unless it fails. */
int hf_callback_store_watch(struct hf_store_watch *watch, const char *name,
                            struct hf_report *line);

/* Remove the callbacks about a lock, lock watch or store watch; NULL: all. */
void hf_callbacks_drop(struct hf_client *client, const void *about);

/* Wait until no callback about a lock, lock watch or store watch is running, NULL:
 * until none is at all; except if this is called from inside one. */
void hf_callbacks_settle(struct hf_client *client, const void *about);

/* Run what is queued; see struct hf_drive_ops. */
void hf_callbacks_deliver(void *client);

#endif
