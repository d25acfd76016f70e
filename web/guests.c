/* guests.c - see guests.h. */
#include "guests.h"

#include <stdlib.h>
#include <sys/socket.h>

#define MANY (GUESTS_MAX * 3 / 4) /* from here on strangers make room */

struct guest {
    struct guest *next, *before;
    int           fd;
    bool          admitted, dismissed;
};

static void add(struct guests *guests, struct guest *guest)
{
    guest->before = guests->last;
    *(guests->last != NULL ? &guests->last->next : &guests->first) = guest;
    guests->last = guest;
    guests->count++;
}

static void take_out(struct guests *guests, struct guest *guest)
{
    *(guest->before != NULL ? &guest->before->next : &guests->first) = guest->next;
    *(guest->next != NULL ? &guest->next->before : &guests->last) = guest->before;
    guests->count--;
}

/* The server finds the end of the connection, and closes it. */
static void dismiss_oldest_stranger(const struct guests *guests)
{
    for (struct guest *guest = guests->first; guest != NULL; guest = guest->next)
        if (!guest->admitted && !guest->dismissed) {
            guest->dismissed = true;
            shutdown(guest->fd, SHUT_RDWR);
            return;
        }
}

static int fd_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return info != NULL ? info->connect_fd : -1;
}

void guests_notify(void *data, struct MHD_Connection *connection, void **context,
                   enum MHD_ConnectionNotificationCode what)
{
    struct guests *guests = data;
    struct guest  *guest = *context;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (guest != NULL)
            take_out(guests, guest);
        free(guest);
        *context = NULL;
        return;
    }
    if (guests->count >= MANY)
        dismiss_oldest_stranger(guests);
    guest = calloc(1, sizeof *guest);
    if (guest == NULL)
        return;
    guest->fd = fd_of(connection);
    add(guests, guest);
    *context = guest;
}

void guests_admit(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct guest *guest = info != NULL ? info->socket_context : NULL;

    if (guest != NULL)
        guest->admitted = true;
}
