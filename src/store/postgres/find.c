/* find.c - where the server is: its name looked up, if that is ours to do. */
#include "store/postgres/inner.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define ANY_PORT "5432" /* libpq is told the address alone */

void hf_pg_find_end(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;

    if (link->resolve == NULL)
        return;
    if (link->resolve_polled != 0)
        epoll_ctl(pg->served.base.fd, EPOLL_CTL_DEL, hf_resolve_fd(link->resolve), NULL);
    link->resolve_polled = 0;
    hf_resolve_free(link->resolve);
    link->resolve = NULL;
}

static void reach(struct hf_pg *pg)
{
    struct hf_pg_link       *link = &pg->link;
    const struct hf_address *address = &link->address[link->next_address++];
    char                     text[NI_MAXHOST];

    hf_pg_find_end(pg);
    if (getnameinfo((const struct sockaddr *)&address->at, address->length, text,
                    sizeof text, NULL, 0, NI_NUMERICHOST) != 0)
        hf_pg_link_break(pg, "has an address that makes no sense");
    else
        hf_pg_connect(pg, text);
}

/* Epoll knows when a look-up is over. */
static void look(struct hf_pg *pg)
{
    struct epoll_event event = { .events = EPOLLIN };

    if (pg->link.resolve_polled != 0)
        return;
    epoll_ctl(pg->served.base.fd, EPOLL_CTL_ADD, hf_resolve_fd(pg->link.resolve), &event);
    pg->link.resolve_polled = EPOLLIN;
}

void hf_pg_find_addresses(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;
    int                n = hf_resolve_get(link->resolve, link->address, HF_RESOLVE_MAX);

    if (n < 0) {
        char why[HF_ERRMSG_MAX];
        snprintf(why, sizeof why, "is not to be found: %.150s",
                 hf_resolve_error(link->resolve));
        hf_pg_link_break(pg, why);
    } else if (n > 0) {
        link->addresses = n;
        link->next_address = 0;
        reach(pg);
    } else {
        look(pg);
    }
}

/* A name: not the folder of a socket, nor an abstract one, nor nothing at all. */
static bool is_name(const struct hf_pg_server *server)
{
    return server->hostaddr[0] == '\0' &&
           strchr("/@", server->host[0]) == NULL; /* "" too */
}

void hf_pg_find_next(struct hf_pg *pg)
{
    struct hf_pg_link         *link = &pg->link;
    const struct hf_pg_server *server = &pg->config.server[link->server];

    if (pg->served.base.errmsg[0] ==
        '\0') /* should somebody give up before we know more */
        hf_pg_link_say(pg, "does not answer");
    link->due = pg->remote.now + hf_pg_link_patience(pg);
    link->phase = HF_PG_RESOLVING;
    if (link->next_address < link->addresses)
        reach(pg);
    else if (!is_name(server))
        hf_pg_connect(pg, NULL);
    else if (hf_resolve_new(server->host, ANY_PORT, &link->resolve) < 0)
        hf_pg_link_break(pg, "cannot be looked up: out of memory");
    else
        hf_pg_find_addresses(pg);
}
