/* door.h - who is let in.
 *
 *     key      in the address that is printed; lets one page in, once, and is used up
 *     token    what that page gets for it, and sends with every request as "Authorization:
 *              Bearer TOKEN".  The page keeps it in its tab.  A cookie would not do: browsers
 *              send cookies to every port of a host, so to servers of other users
 *     bearer   HOLDFAST_WEB_TOKEN, the same for programs
 *
 * And Host must be a name of ours.  A page of somebody else can have its own name point to
 * 127.0.0.1 later, and its script would be let in by the browser; but it cannot change Host.
 */
#ifndef DOOR_H
#define DOOR_H

#include "secret.h"

#include <stdint.h>

#define DOOR_VISITS 64 /* so many pages at a time; of more, the idlest is forgotten */

struct visit {
    char    token[SECRET_SIZE]; /* "": nobody */
    int64_t used;               /* last, us since 1970 */
};

struct door {
    char         key[SECRET_SIZE]; /* "": used up */
    struct visit visit[DOOR_VISITS];
    const char  *bearer; /* NULL: none */
};

/* False: no random numbers. */
bool door_init(struct door *door, const char *bearer);

/* Another key; the one before is worth nothing any more. */
bool door_new_key(struct door *door);

/* Let somebody in who has the key; the token, or NULL: the key is wrong or used up. */
const char *door_enter(struct door *door, const char *key, int64_t now);

/* Is it "Bearer TOKEN" with a token that lets in?  `header` may be NULL. */
bool door_admits(struct door *door, const char *header, int64_t now);

/* May it stand in Host?  It may be a name of this machine for itself, with that port behind
 * it (0: any), or `name`, unless that is NULL.  `host` may be NULL. */
bool door_knows(const char *host, const char *name, uint16_t port);

/* Does a page of `origin`, as "http://localhost:7171", come from that host? */
bool door_is_same(const char *origin, const char *host);

#endif
