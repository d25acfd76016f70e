/* guests.h - connections, and which of them make room for others.
 *
 * Anybody on this machine can connect, and send a request as slowly as he likes.  A connection
 * that was never let in is a stranger's.  When there are many connections, a new one takes the
 * place of the stranger that has been there longest, so that strangers keep nobody out.
 */
#ifndef GUESTS_H
#define GUESTS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#define GUESTS_MAX 256 /* connections at a time */

struct guest;

struct guests {
    struct guest *first, *last; /* by age, the oldest first */
    size_t        count;
};

/* For MHD_OPTION_NOTIFY_CONNECTION; `data` is the struct guests. */
void guests_notify(void *data, struct MHD_Connection *connection, void **context,
                   enum MHD_ConnectionNotificationCode what);

/* A request on this connection was let in. */
void guests_admit(struct MHD_Connection *connection);

#endif
