/* clients.h - limits the number of connections.
 *
 * Any program on this machine can connect, and send a request as slowly as it likes.  When there are
 * many connections, a new one replaces the oldest that has not authenticated, so that such clients
 * cannot keep others out.
 */
#ifndef CLIENTS_H
#define CLIENTS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

#define CLIENTS_MAX 256 /* connections at a time */

struct client;

struct clients {
    struct client *first, *last; /* by age, the oldest first */
    size_t         count;
};

/* For MHD_OPTION_NOTIFY_CONNECTION; `data` is the struct clients. */
void clients_notify(void *data, struct MHD_Connection *connection, void **context,
                    enum MHD_ConnectionNotificationCode what);

/* A request on this connection had a valid token. */
void clients_authenticated(struct MHD_Connection *connection);

#endif
