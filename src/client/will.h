/* will.h - a will as bytes, for hf_will() and hf_execute().
 *
 *     "hfwill"  version  checksum  ttl_ms  url's length  url  what the store wrote
 *      6 bytes  2        8         4       4
 *
 * Numbers are little-endian.  The checksum is of all that follows it, and tells a damaged
 * will from a whole one; it does not keep anybody from making one up.
 */
#ifndef HF_CLIENT_WILL_H
#define HF_CLIENT_WILL_H

#include "client/client.h"

/* What a will says; it points into the bytes that were read. */
struct hf_will {
    const char    *url; /* not terminated */
    size_t         url_size;
    uint32_t       ttl_ms;
    const uint8_t *own; /* what the store wrote */
    size_t         own_size;
};

/* Returns its size; `ret` is written only if that is no more than `size`. */
size_t hf_will_write(const struct hf_will *will, uint8_t *ret, size_t size);

/* HF_EINVAL, HF_EUNSUPPORTED: `errmsg` tells what is wrong with it. */
int hf_will_read(const uint8_t *bytes, size_t size, struct hf_will *ret, char *errmsg);

/* The will of a client's session; as hf_will().  By the one who turns the engine, or with
 * the mutex held while nobody does. */
int hf_will_make(struct hf_client *client, uint8_t *ret, size_t size);

/* If there is a warden, or on_will in the options: tell them the will of each session from
 * now on.  Before the engine is turned for the first time. */
void hf_will_hand_out(struct hf_client *client);

#endif
