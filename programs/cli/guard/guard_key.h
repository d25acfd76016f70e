/* guard_key.h - the session key on its way to a guardian, which ends the session by it if
 * holdfast is killed.  holdfast sends it before the session asks for a place, so that no
 * place is left that the guardian cannot remove.
 *
 * A session in a file needs no key: the guardian has its lifeline, and the kernel cuts
 * that.
 */
#ifndef GUARD_KEY_H
#define GUARD_KEY_H

#include "guard/guard.h"

#include <holdfast.h>

/* holdfast's end. */
struct guard_key {
    struct guard *guard;
    bool          owed; /* the guardian has not got it yet */
    size_t        size;
    uint8_t       bytes[GUARD_KEY_MAX]; /* the last one */
};

/* The library's on_session_key. */
void guard_key_set(struct guard_key *key, const void *bytes, size_t size);

/* Send it, if that failed before; NULL: there is no guardian. */
void guard_key_send(struct guard_key *key);
void guard_key_forget(struct guard_key *key);

/* The guardian's end.  The memory is in no core dump, and not in the command's
 * process. */
struct kept_key {
    uint8_t *bytes; /* GUARD_KEY_MAX of them */
    size_t   size;  /* 0: there is none */
};

/* 0, or -1 and errno. */
int kept_key_init(struct kept_key *kept);

/* End the session, if there is a key.  Tries until `deadline` if the server cannot be
 * reached, but for some seconds at least. */
void kept_key_end_session(struct kept_key *kept, int64_t deadline);

#endif
