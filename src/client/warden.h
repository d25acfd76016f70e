/* warden.h - the process that executes the will of this one when it dies; see HF_WARDEN
 * in holdfast.h.
 *
 * Each client has one, `holdfast warden`, and a socket to it.  What travels:
 *
 *     <--  HELLO       once, as soon as it runs
 *     -->  A_WILL      whenever the link comes up; the last one counts.  With the first it
 *                      loads what that store needs, so as not to look for it later
 *     -->  DISMISSED   in hf_close(): it exits
 *     -->  EXECUTE     in hf_close(), if the store could not be told that locks are given up
 *     -->  end of file: this process is dead, and so are those that it forked; or they have
 *          closed it or called exec().  It looks whether this process lives.  If not, it
 *          executes the will
 *
 * So the socket is not closed in a forked child: as long as one lives the lock may still
 * be used.  A child that calls hf_close() says that it does not.
 */
#ifndef HF_CLIENT_WARDEN_H
#define HF_CLIENT_WARDEN_H

#include "client/client.h"
#include "warden_word.h"

/* Before the engine is turned for the first time.  `path` NULL: the one that was
 * installed with the library.  Waits until the warden runs.  On failure `errmsg` tells
 * why. */
int hf_warden_start(struct hf_client *client, const char *path, char *errmsg);

/* The will of the session that begins now.  Never waits. */
void hf_warden_tell(struct hf_warden *warden, const uint8_t *will, size_t size);

/* Once the session is ended; never waits.  `told`: the store knows of all that was given
 * up.  If not, the warden has to see to it. */
void hf_warden_dismiss(struct hf_client *client, bool told);

/* In a forked child: it does not act under the locks of its parent. */
void hf_warden_leave_to_parent(struct hf_client *client);

#endif
