/* auth.h - authentication.
 *
 *     key      in the printed address; logs one page in, and is then used up
 *     token    the page gets it for the key, and sends it with every request as "Authorization:
 *              Bearer TOKEN".  The page keeps it in its tab.  A cookie would not do: browsers
 *              send cookies to every port of a host, so also to servers of other users
 *     bearer   HOLDFAST_WEB_TOKEN, the same for programs
 *
 * In addition, Host must be one of our names, against DNS rebinding: a foreign page can let its
 * own name resolve to 127.0.0.1 later, and the browser would let its script read our answers.  But
 * it cannot change Host.
 */
#ifndef AUTH_H
#define AUTH_H

#include "secret.h"

#include <stdint.h>

#define AUTH_LOGINS 64 /* pages at a time; one more replaces the least recently used */

struct login {
    char    token[SECRET_SIZE]; /* "": unused */
    int64_t used;               /* last request, us since 1970 */
};

struct auth {
    char         key[SECRET_SIZE]; /* "": used up */
    struct login login[AUTH_LOGINS];
    const char  *bearer; /* NULL: none */
};

/* False: no random numbers. */
bool auth_init(struct auth *auth, const char *bearer);

/* Make a new key; the old one becomes invalid. */
bool auth_new_key(struct auth *auth);

/* Exchange the key for a token; NULL: the key is wrong or used up. */
const char *auth_log_in(struct auth *auth, const char *key, int64_t now);

/* Is it "Bearer TOKEN" with a valid token?  `header` may be NULL. */
bool auth_is_token(struct auth *auth, const char *header, int64_t now);

/* Is `host`, from the header Host, a name of this machine for itself, with that port (0: any), or
 * `name`?  `host` and `name` may be NULL. */
bool auth_is_our_host(const char *host, const char *name, uint16_t port);

/* Does `origin`, such as "http://localhost:7171", have that host? */
bool auth_is_same_origin(const char *origin, const char *host);

#endif
