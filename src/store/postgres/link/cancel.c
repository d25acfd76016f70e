/* cancel.c - stop what the server does for a connection that we give up.
 *
 * While the server waits for a standby or for a lock, it does not notice that its
 * client is gone.  A client that reconnected again and again would use up all of its
 * connections.  So we send a cancel request, which has a connection of its own, and
 * reconnect when that is done or takes too long.  libpq's function for it blocks: hence
 * a thread.
 *
 * The old connection is closed after that, since a pooler passes the request on only
 * while it has the connection.  But with several calls in flight, so without a pooler,
 * it is reset before: otherwise the server would go on with the next call, and wait
 * again.
 */
#include "store/postgres/inner.h"

#include "base/fork.h"

#include <assert.h>
#include <poll.h>
#include <sys/epoll.h>

static void run_cancel(void *data)
{
    char error[256];

    PQcancel(data, error, sizeof error); /* if it fails, the call runs into its limit */
}

static void drop_cancel(void *data)
{
    PQfreeCancel(data);
}

static const struct hf_aside_work work = { "holdfast-cancel", run_cancel, drop_cancel };

void hf_pg_cancel_begin(struct hf_pg *pg)
{
    struct hf_pg_cancel *cancel = &pg->link.cancel;
    PGcancel            *data = PQgetCancel(pg->link.conn);

    assert(pg->link.conn != NULL && pg->dial.phase == HF_DIAL_RESTING);
    assert(pg->link.flight.count > 0); /* else there is nothing to stop */
    hf_pg_cancel_end(pg);
    assert(cancel->aside == NULL && cancel->conn == NULL);
    if (pg->link.flight.count > 1) {
        hf_pg_socket_reset(pg);
        pg->link.conn = NULL;
    }
    if (data != NULL && hf_aside_new(&work, data, &cancel->aside) != 0)
        PQfreeCancel(data);
    if (cancel->aside == NULL) {
        if (pg->link.conn != NULL)
            hf_pg_socket_close(pg);
        return;
    }
    cancel->conn = pg->link.conn;
    cancel->server = pg->dial.server;
    cancel->generation = hf_fork_generation();
    cancel->limit = pg->remote.now + hf_pg_cancel_limit(pg);
    hf_polled_set(&cancel->polled, pg->served.base.fd, hf_aside_fd(cancel->aside),
                  EPOLLIN);
}

void hf_pg_cancel_end(struct hf_pg *pg)
{
    struct hf_pg_cancel *cancel = &pg->link.cancel;

    if (cancel->aside == NULL)
        return;
    hf_polled_end(&cancel->polled, pg->served.base.fd);
    if (cancel->conn != NULL && cancel->generation == hf_fork_generation())
        hf_pg_socket_finish(cancel->conn);
    hf_aside_free(cancel->aside);
    *cancel = (struct hf_pg_cancel){ 0 };
}

void hf_pg_cancel_run(struct hf_pg *pg)
{
    struct hf_pg_cancel *cancel = &pg->link.cancel;

    if (cancel->aside != NULL &&
        (hf_aside_done(cancel->aside) || pg->remote.now >= cancel->limit))
        hf_pg_cancel_end(pg);
}

hf_time hf_pg_cancel_wake(const struct hf_pg *pg)
{
    return pg->link.cancel.aside != NULL ? pg->link.cancel.limit : HF_NEVER;
}

bool hf_pg_cancel_is_awaited(const struct hf_pg *pg)
{
    const struct hf_pg_cancel *cancel = &pg->link.cancel;

    return cancel->aside != NULL && cancel->server == hf_dial_next_server(&pg->dial);
}

void hf_pg_cancel_await(struct hf_pg *pg, hf_time end)
{
    struct hf_pg_cancel *cancel = &pg->link.cancel;

    if (cancel->aside == NULL || cancel->generation != hf_fork_generation())
        return;
    struct pollfd poller = { .fd = hf_aside_fd(cancel->aside), .events = POLLIN };
    poll(&poller, 1, hf_poll_ms(hf_now(), end));
}
