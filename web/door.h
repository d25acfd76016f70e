/* door.h - who is let in.
 *
 *     key      in the address that is printed; lets one browser in, once, and is used up
 *     cookie   what that browser gets for it; goes with all that it asks
 *     token    what its page has to send as a header with all that changes something: a page
 *              of somebody else could have the browser send the cookie, but not this
 *     bearer   HOLDFAST_WEB_TOKEN, for programs
 *
 * And Host must be a name of ours.  A page of somebody else can have its own name point to
 * 127.0.0.1 later, and its script would be let in by the browser; but it cannot change Host.
 */
#ifndef DOOR_H
#define DOOR_H

#include "secret.h"

#include <stdint.h>

#define DOOR_VISITS 64 /* so many browsers at a time; of more, the idlest is forgotten */
#define DOOR_COOKIE 32

struct visit {
    char    cookie[SECRET_SIZE]; /* "": nobody */
    char    token[SECRET_SIZE];
    int64_t used; /* last, us since 1970 */
};

struct door {
    char         key[SECRET_SIZE]; /* "": used up */
    struct visit visit[DOOR_VISITS];
    const char  *bearer; /* NULL: none */
    char         cookie_name[DOOR_COOKIE];
};

/* `port` 0: a Unix socket, which others forward to whatever port they like.  False: no
 * random numbers. */
bool door_init(struct door *door, uint16_t port, const char *bearer);

/* Another key; the one before is worth nothing any more. */
bool door_new_key(struct door *door);

/* Let somebody in who has the key; NULL: it is wrong or used up. */
const struct visit *door_enter(struct door *door, const char *key, int64_t now);

/* Who has this cookie; NULL: nobody. */
const struct visit *door_find(struct door *door, const char *cookie, int64_t now);

/* Is it "Bearer TOKEN" with the right one?  `header` may be NULL. */
bool door_is_bearer(const struct door *door, const char *header);

/* May it stand in Host?  It may be a name of this machine for itself, with that port behind
 * it (0: any), or `name`, unless that is NULL.  `host` may be NULL. */
bool door_knows(const char *host, const char *name, uint16_t port);

/* Does a page of `origin`, as "http://localhost:7171", come from that host? */
bool door_is_same(const char *origin, const char *host);

#endif
