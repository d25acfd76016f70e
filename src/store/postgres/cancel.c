/* cancel.c - the server is to stop what it does for a connection that we give up.
 *
 * By itself it does not notice that nobody listens any more while it waits for a standby or
 * for somebody's lock, and a client that connected again and again would take all of the
 * connections there are.  So it is told, by a connection for that alone, and we connect to
 * it again when that is done, or takes too long.  libpq waits for it: hence aside.
 *
 * The old connection is closed after that, for a pooler passes on what it is told only
 * while it has the connection it is told of.
 */
#include "store/postgres/inner.h"

#include "base/fork.h"

#include <poll.h>
#include <sys/epoll.h>

static void run(void *data)
{
    char error[256];

    PQcancel(data, error, sizeof error); /* if it fails, time will tell */
}

static void drop(void *data)
{
    PQfreeCancel(data);
}

static const struct hf_aside_work work = { "holdfast-cancel", run, drop };

void hf_pg_cancel_begin(struct hf_pg *pg)
{
    struct hf_pg_cancel *cancel = &pg->link.cancel;
    struct epoll_event   event = { .events = EPOLLIN };
    PGcancel            *data = PQgetCancel(pg->link.conn);

    hf_pg_cancel_end(pg);
    if (data != NULL && hf_aside_new(&work, data, &cancel->aside) != 0)
        PQfreeCancel(data);
    if (cancel->aside == NULL) {
        hf_pg_socket_close(pg);
        return;
    }
    cancel->conn = hf_pg_socket_detach(pg);
    cancel->server = pg->link.server;
    cancel->generation = hf_fork_generation();
    cancel->limit = pg->remote.now + hf_pg_link_patience(pg);
    epoll_ctl(pg->served.base.fd, EPOLL_CTL_ADD, hf_aside_fd(cancel->aside), &event);
}

void hf_pg_cancel_end(struct hf_pg *pg)
{
    struct hf_pg_cancel *cancel = &pg->link.cancel;

    if (cancel->aside == NULL)
        return;
    if (cancel->generation == hf_fork_generation()) {
        epoll_ctl(pg->served.base.fd, EPOLL_CTL_DEL, hf_aside_fd(cancel->aside), NULL);
        hf_pg_socket_finish(cancel->conn);
    }
    hf_aside_free(cancel->aside);
    *cancel = (struct hf_pg_cancel){ 0 };
}

bool hf_pg_cancel_run(struct hf_pg *pg)
{
    struct hf_pg_cancel *cancel = &pg->link.cancel;

    if (cancel->aside != NULL &&
        (hf_aside_done(cancel->aside) || pg->remote.now >= cancel->limit))
        hf_pg_cancel_end(pg);
    return cancel->aside == NULL || cancel->server != pg->link.server;
}

void hf_pg_cancel_await(struct hf_pg *pg, hf_time end)
{
    struct hf_pg_cancel *cancel = &pg->link.cancel;

    if (cancel->aside == NULL || cancel->generation != hf_fork_generation())
        return;
    struct pollfd poller = { .fd = hf_aside_fd(cancel->aside), .events = POLLIN };
    poll(&poller, 1, hf_poll_ms(hf_now(), end));
}
