/* socket.c - the socket of libpq's connection: guarded against forks, looked at by epoll.
 *
 * While it connects libpq may close its socket and open another one.  So it is let go of
 * before each step and taken up again behind it, and nobody forks meanwhile: a child would
 * have a copy that nobody closes.
 */
#include "store/postgres/inner.h"

#include "base/fork.h"

#include <sys/epoll.h>

static void let_go(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;

    if (link->fd < 0)
        return;
    epoll_ctl(pg->served.base.fd, EPOLL_CTL_DEL, link->fd, NULL);
    hf_fork_unguard(link->fd);
    link->fd = -1;
    link->polled = 0;
}

static void take_up(struct hf_pg *pg)
{
    int fd = PQsocket(pg->link.conn);

    if (fd >= 0 && hf_fork_guard(fd) == 0)
        pg->link.fd = fd;
}

bool hf_pg_socket_open(struct hf_pg *pg, const struct hf_pg_keywords *keywords)
{
    hf_fork_pause();
    pg->link.conn = PQconnectStartParams(keywords->key, keywords->value, 0);
    take_up(pg);
    hf_fork_resume();
    return pg->link.conn != NULL;
}

PostgresPollingStatusType hf_pg_socket_step(struct hf_pg *pg)
{
    hf_fork_pause();
    let_go(pg);
    PostgresPollingStatusType status = PQconnectPoll(pg->link.conn);
    take_up(pg);
    hf_fork_resume();
    return status;
}

void hf_pg_socket_close(struct hf_pg *pg)
{
    hf_fork_pause();
    let_go(pg);
    PQfinish(pg->link.conn);
    hf_fork_resume();
}

PGconn *hf_pg_socket_detach(struct hf_pg *pg)
{
    if (pg->link.fd >= 0)
        epoll_ctl(pg->served.base.fd, EPOLL_CTL_DEL, pg->link.fd, NULL);
    return pg->link.conn;
}

void hf_pg_socket_finish(PGconn *conn)
{
    hf_fork_pause();
    hf_fork_unguard(PQsocket(conn));
    PQfinish(conn);
    hf_fork_resume();
}

bool hf_pg_socket_look(struct hf_pg *pg, unsigned events)
{
    struct hf_pg_link *link = &pg->link;
    struct epoll_event event = { .events = events };

    if (link->fd < 0)
        return false;
    if (link->polled == events)
        return true;
    int op = link->polled == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    link->polled = events;
    return epoll_ctl(pg->served.base.fd, op, link->fd, &event) == 0;
}
