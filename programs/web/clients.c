/* clients.c - see clients.h. */
#include "clients.h"

#include <stdlib.h>
#include <sys/socket.h>

#define MANY (CLIENTS_MAX * 3 / 4) /* from here on, close unauthenticated connections */

struct client {
    struct client *next, *before;
    int            fd;
    bool           authenticated, closing;
};

static void add_client(struct clients *clients, struct client *client)
{
    client->before = clients->last;
    *(clients->last != NULL ? &clients->last->next : &clients->first) = client;
    clients->last = client;
    clients->count++;
}

static void remove_client(struct clients *clients, struct client *client)
{
    *(client->before != NULL ? &client->before->next : &clients->first) = client->next;
    *(client->next != NULL ? &client->next->before : &clients->last) = client->before;
    clients->count--;
}

/* The daemon notices the end of the connection, and closes it. */
static void close_oldest_unauthenticated(const struct clients *clients)
{
    for (struct client *client = clients->first; client != NULL; client = client->next)
        if (!client->authenticated && !client->closing) {
            client->closing = true;
            shutdown(client->fd, SHUT_RDWR);
            return;
        }
}

static int fd_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info != NULL ? info->connect_fd : -1;
}

void clients_notify(void *data, struct MHD_Connection *connection, void **context,
                    enum MHD_ConnectionNotificationCode what)
{
    struct clients *clients = data;
    struct client  *client = *context;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (client != NULL)
            remove_client(clients, client);
        free(client);
        *context = NULL;
        return;
    }
    if (clients->count >= MANY)
        close_oldest_unauthenticated(clients);
    client = calloc(1, sizeof *client);
    if (client == NULL)
        return;
    client->fd = fd_of(connection);
    add_client(clients, client);
    *context = client;
}

void clients_authenticated(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct client *client = info != NULL ? info->socket_context : NULL;

    if (client != NULL)
        client->authenticated = true;
}
