/* warden.h - the process that executes the will of this one when it dies; see HF_WARDEN
 * in holdfast.h.
 *
 * Each client has one, `holdfast warden`, and a socket to it.  What travels:
 *
 *     <--  HELLO       once, as soon as it runs
 *     -->  a will      whenever the link comes up; the last one counts
 *     -->  DISMISSED   one byte, in hf_close(): it exits
 *     -->  end of file: this process is dead, and so are those that it forked, or they have
 *          called exec().  It executes the will, and exits
 *
 * So the socket must not be closed in a forked child: as long as one lives the lock may
 * still be used.
 */
#ifndef HF_CLIENT_WARDEN_H
#define HF_CLIENT_WARDEN_H

#include "client/client.h"

/* cli/warden.c says and hears the same. */
#define HF_WARDEN_HELLO "holdfast warden 1"

/* Before the engine is turned for the first time.  `path` NULL: that of the build.  Waits
 * until the warden runs.  On failure `errmsg` tells why. */
int hf_warden_start(struct hf_client *client, const char *path, char *errmsg);

/* The will of the session that begins now.  Never waits. */
void hf_warden_tell(struct hf_warden *warden, const uint8_t *will, size_t size);

/* Once the session is ended; never waits. */
void hf_warden_dismiss(struct hf_client *client);

#endif
