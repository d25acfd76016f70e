/* end.h - ending a session from outside: its key, and the guardian that uses it.
 *
 * A session key as bytes, for hf_session_key() and hf_end_session():
 *
 *     "hfwill"  version  checksum  ttl_ms  url's length  url  the store's part
 *      6 bytes  2        8         4       4
 *
 * Numbers are little-endian.  The checksum covers everything after it.  It detects a
 * damaged key; it does not prevent anybody from making one up.
 *
 * The guardian (HF_GUARDIAN in holdfast.h) is a process, `holdfast guardian`, one for
 * each client.  It ends the client's session when the client's process dies.  On the
 * socket between the two travel (guardian_word.h):
 *
 *     <--  HELLO         once, as soon as the guardian runs
 *     -->  KEY           whenever the link comes up; the last one counts.  With the first
 *                        one the guardian loads the libraries of that store
 *     -->  DISMISSED     in hf_close(): it exits
 *     -->  END_SESSION   in hf_close(), if the store did not confirm all releases
 *     -->  end of file   this process and its forked children are dead, or have closed
 *                        the socket or called exec().  If this process is dead, the
 *                        guardian ends the session
 *
 * A forked child keeps the socket open, on purpose: as long as it lives, it may act
 * under the lock.  By hf_close() a child says that it does not.
 */
#ifndef HF_END_H
#define HF_END_H

#include "client/client.h"
#include "guardian_word.h"

/* A session key; it points into the bytes that were read. */
struct hf_session_key {
    const char    *url; /* not terminated */
    size_t         url_size;
    uint32_t       ttl_ms;
    const uint8_t *own; /* the store's part */
    size_t         own_size;
};

/* Returns its size; `ret` is written only if that is no more than `size`. */
size_t hf_session_key_write(const struct hf_session_key *key, uint8_t *ret, size_t size);

/* HF_EINVAL, HF_EUNSUPPORTED: `errmsg` says what is wrong with it. */
int hf_session_key_read(const uint8_t *bytes, size_t size, struct hf_session_key *ret,
                        char *errmsg);

/* As hf_session_key().  In the thread that turns the engine, or with the mutex held while
 * nobody turns it. */
int hf_session_key_make(struct hf_client *client, uint8_t *ret, size_t size);

/* Pass the key of each session from now on to the guardian and to on_session_key, if
 * there are any.  Before the first turn of the engine. */
void hf_session_key_hand_out(struct hf_client *client);

/* Start the guardian, before the first turn of the engine.  `path` NULL: the program
 * that was installed with the library.  Waits until it runs.  On failure `errmsg` says
 * why. */
int hf_guardian_start(struct hf_client *client, const char *path, char *errmsg);

/* Send the key of the session that begins now.  Never waits. */
void hf_guardian_send_key(struct hf_guardian *guardian, const uint8_t *key, size_t size);

/* After the end of the session; never waits.  `released`: the store has confirmed all
 * releases.  If not, the guardian ends the session. */
void hf_guardian_dismiss(struct hf_client *client, bool released);

/* In a forked child: it does not act under the locks of its parent. */
void hf_guardian_leave_to_parent(struct hf_client *client);

#endif
