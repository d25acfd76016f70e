/* resolve.h - addresses of a host, without blocking.
 *
 * Numeric addresses are available at once.  A name is looked up by getaddrinfo(3) in a
 * thread of its own, which makes a descriptor readable when it is done.  An abandoned
 * look-up ends by itself.
 */
#ifndef HF_RESOLVE_H
#define HF_RESOLVE_H

#include <stdbool.h>
#include <sys/socket.h>

#define HF_RESOLVE_MAX 16

struct hf_address {
    struct sockaddr_storage at;
    socklen_t               length;
};

struct hf_resolve; /* one look-up */

/* Start to look `host` (a name, an IPv4 or an IPv6 address without brackets) and
 * `port` up.  0 or HF_ENOMEM. */
int hf_resolve_new(const char *host, const char *port, struct hf_resolve **ret);

/* Readable once it is done; -1: it is done already. */
int hf_resolve_fd(const struct hf_resolve *resolve);

/* Copies the addresses to `ret`, and returns how many; 0: not done yet; HF_EDOWN: there
 * are none, and hf_resolve_error() says why. */
int         hf_resolve_get(struct hf_resolve *resolve, struct hf_address *ret, int max);
const char *hf_resolve_error(const struct hf_resolve *resolve);

void hf_resolve_free(struct hf_resolve *resolve);

/* Is it on this host: loopback or a Unix socket? */
bool hf_address_is_local(const struct sockaddr_storage *at);

#endif
