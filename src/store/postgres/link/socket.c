/* socket.c - the socket of libpq's connection: guarded against forks, watched by epoll.
 *
 * While libpq connects it may close its socket and open another one.  So we unregister
 * the socket before each step, and register it again afterwards.  Forks have to wait
 * meanwhile: a child would inherit a copy that nobody closes.
 */
#include "store/postgres/inner.h"

#include "base/fork.h"

#include <assert.h>
#include <sys/socket.h>

static void unguard_socket(struct hf_pg *pg)
{
    if (pg->link.fd < 0)
        return;
    hf_polled_end(&pg->dial.polled, pg->served.base.fd);
    hf_fork_unguard(pg->link.fd);
    pg->link.fd = -1;
}

static void guard_socket(struct hf_pg *pg)
{
    int fd = PQsocket(pg->link.conn);

    assert(pg->link.fd < 0);
    if (fd >= 0 && hf_fork_guard(fd) == 0)
        pg->link.fd = fd;
}

bool hf_pg_socket_open(struct hf_pg *pg, const struct hf_pg_keywords *keywords)
{
    hf_fork_pause();
    pg->link.conn = PQconnectStartParams(keywords->key, keywords->value, 0);
    guard_socket(pg);
    hf_fork_resume();
    return pg->link.conn != NULL;
}

PostgresPollingStatusType hf_pg_socket_step(struct hf_pg *pg)
{
    assert(pg->link.conn != NULL);
    hf_fork_pause();
    unguard_socket(pg);
    PostgresPollingStatusType status = PQconnectPoll(pg->link.conn);
    guard_socket(pg);
    hf_fork_resume();
    return status;
}

void hf_pg_socket_close(struct hf_pg *pg)
{
    hf_fork_pause();
    unguard_socket(pg);
    PQfinish(pg->link.conn);
    hf_fork_resume();
}

/* The server gets an error with the next thing it sends. */
void hf_pg_socket_reset(struct hf_pg *pg)
{
    struct linger hard = { .l_onoff = 1, .l_linger = 0 };

    setsockopt(PQsocket(pg->link.conn), SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    hf_pg_socket_close(pg);
}

void hf_pg_socket_finish(PGconn *conn)
{
    hf_fork_pause();
    hf_fork_unguard(PQsocket(conn));
    PQfinish(conn);
    hf_fork_resume();
}

bool hf_pg_socket_poll(struct hf_pg *pg, unsigned events)
{
    return pg->link.fd >= 0 &&
           hf_polled_set(&pg->dial.polled, pg->served.base.fd, pg->link.fd, events) == 0;
}
