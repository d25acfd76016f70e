/* link.c - the connection.
 *
 *     RESTING --> RESOLVING --> CONNECTING --> OPENING --> READY
 *        ^            |              |            |          |
 *        +------------+--------------+------------+----------+  it broke
 *
 * Happy path: the server's name is looked up, libpq connects to it (TLS, password and
 * all), the session's hello is sent, and when that is answered calls flow.
 *
 * Failures: each step has a short limit, each address and each server its turn; after
 * all of them there is a pause that grows.  Calls in flight are answered with NULL.
 * What will not be better soon, as a wrong password, is told to whoever asks.
 *
 * A forked child has none of our descriptors any more, and their numbers may be others by
 * then: there libpq's connection is left as it is, for PQfinish() would write and close.
 */
#include "store/postgres/inner.h"

#include "base/fork.h"

#include <assert.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#define STEP_MOST  (2 * HF_SEC)
#define HELLO_MOST (60 * HF_SEC)
#define FAREWELL   (100 * HF_MS) /* for a server to hear that it should stop */

#define PIECES 16 /* read in one turn, if TLS has more of them */

const char *hf_pg_link_server(const struct hf_pg *pg, char *ret, size_t size)
{
    return hf_pg_config_show(&pg->config, pg->link.server, ret, size);
}

/* Twice as long in every round that was in vain, up to `most`. */
static hf_time longer(const struct hf_pg *pg, hf_time limit, hf_time most)
{
    for (unsigned i = 0; i < pg->link.rounds && limit < most; i++)
        limit *= 2;
    return limit < most ? limit : most;
}

hf_time hf_pg_link_patience(const struct hf_pg *pg)
{
    return longer(pg, pg->config.ttl / 6, STEP_MOST);
}

/* A server that does not answer to hello may wait for its standby, or for somebody who has
 * locked our tables: who asks again soon makes that no better.  Unless there is another. */
hf_time hf_pg_link_limit(const struct hf_pg *pg)
{
    hf_time limit = pg->config.ttl / 3;

    return pg->link.phase == HF_PG_OPENING && pg->config.servers == 1 &&
                   limit < HELLO_MOST
               ? longer(pg, limit, HELLO_MOST)
               : limit;
}

void hf_pg_link_say(struct hf_pg *pg, const char *why)
{
    char server[160];

    snprintf(pg->served.base.errmsg, sizeof pg->served.base.errmsg, "PostgreSQL at %s %s",
             hf_pg_link_server(pg, server, sizeof server), why);
}

static void close_conn(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;

    if (link->conn == NULL)
        return;
    if (link->generation == hf_fork_generation()) {
        if (link->busy && PQstatus(link->conn) == CONNECTION_OK)
            hf_pg_cancel_begin(pg);
        else
            hf_pg_socket_close(pg);
    }
    link->conn = NULL;
    link->fd = -1;
    link->polled = 0;
}

/* ---- Breaking ---------------------------------------------------------------------- */

/* Longer and longer; but short of a session that is running out meanwhile. */
static hf_time pause_for(struct hf_pg *pg)
{
    hf_time pause = hf_retry_next(&pg->link.retry);
    hf_time most = pg->config.ttl / 20;

    return pg->served.places > 0 && pause > most ? most : pause;
}

/* Say `refusal` to whoever asks, instead of letting him wait. */
static void refuse(struct hf_pg *pg, int refusal)
{
    struct hf_pg_link *link = &pg->link;

    link->refused = pg->served.base.refusing = true;
    link->refusal = refusal;
    link->tried = 0;
    link->addresses = 0;
    link->due = pg->remote.now + HF_SEC;
    hf_store_set_link(&pg->served.base, HF_LINK_UP);
}

/* The next address or server has its turn, at once; after all of them, a pause.  One that
 * was fine is the first to be tried again, unless it hangs. */
static void go_on(struct hf_pg *pg, enum hf_pg_phase phase, bool hangs)
{
    struct hf_pg_link *link = &pg->link;

    link->due = pg->remote.now;
    if (phase == HF_PG_CONNECTING && link->next_address < link->addresses)
        return;
    link->addresses = 0;
    if (phase != HF_PG_READY || hangs) {
        hf_store_tried(&pg->served.base, hf_store_is_absent(&pg->served.base),
                       link->tried + 1 >= pg->config.servers);
        link->server = (link->server + 1) % pg->config.servers;
        if (++link->tried < pg->config.servers)
            return;
        link->rounds++;
    }
    link->tried = 0;
    link->due += pause_for(pg);
}

static void give_up(struct hf_pg *pg, const char *why, int refusal, bool hangs)
{
    struct hf_pg_link *link = &pg->link;
    enum hf_pg_phase   phase = link->phase;

    if (phase == HF_PG_RESTING)
        return;
    if (why != NULL)
        hf_pg_link_say(pg, why);
    hf_pg_find_end(pg);
    close_conn(pg);
    link->phase = HF_PG_RESTING;
    if (refusal != 0) {
        hf_store_tried(&pg->served.base, hf_store_is_absent(&pg->served.base), true);
        refuse(pg, refusal);
    } else {
        go_on(pg, phase, hangs);
        hf_store_set_link(&pg->served.base, HF_LINK_DOWN);
    }
    hf_pg_calls_drop(pg);
    hf_pg_session_broken(pg);
}

void hf_pg_link_break(struct hf_pg *pg, const char *why)
{
    give_up(pg, why, 0, false);
}

static void hung(struct hf_pg *pg, hf_time limit)
{
    char why[HF_ERRMSG_MAX];

    snprintf(why, sizeof why, "does not answer within %.1f s", (double)limit / HF_SEC);
    give_up(pg, why, 0, true);
}

void hf_pg_link_hung(struct hf_pg *pg)
{
    hung(pg, hf_pg_link_limit(pg));
}

void hf_pg_link_refuse(struct hf_pg *pg, int status, const char *why)
{
    assert(status < 0);
    give_up(pg, why, status, false);
}

/* libpq noticed that the connection is gone. */
static void hung_up(struct hf_pg *pg)
{
    char line[160], why[HF_ERRMSG_MAX];

    hf_pg_fault_line(PQerrorMessage(pg->link.conn), line, sizeof line);
    if (pg->link.parting[0] != '\0')
        snprintf(why, sizeof why, "%s", pg->link.parting);
    else
        snprintf(why, sizeof why, "hung up: %s", line);
    hf_pg_link_break(pg, why);
}

/* ---- Turns ------------------------------------------------------------------------- */

/* What TLS has read already, epoll does not know of. */
static bool has_more(PGconn *conn)
{
    SSL *ssl = PQsslStruct(conn, "OpenSSL");

    return ssl != NULL && SSL_pending(ssl) > 0;
}

static void read_more(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;

    link->more = false;
    for (int i = 0; i == 0 || (i < PIECES && link->more); i++) {
        if (!PQconsumeInput(link->conn)) {
            hung_up(pg);
            return;
        }
        if (!hf_pg_calls_take(pg))
            return;
        link->more = has_more(link->conn);
    }
}

void hf_pg_link_run(struct hf_pg *pg, bool readable)
{
    struct hf_pg_link *link = &pg->link;

    bool free_to = hf_pg_cancel_run(pg);
    if (link->phase == HF_PG_RESTING && pg->remote.now >= link->due && free_to) {
        if (link->refused) {
            link->refused = pg->served.base.refusing = false;
            hf_store_set_link(&pg->served.base, HF_LINK_DOWN);
        }
        hf_pg_find_next(pg);
    }
    if (link->phase == HF_PG_RESOLVING)
        hf_pg_find_addresses(pg);
    if (link->phase == HF_PG_CONNECTING)
        hf_pg_connect_more(pg);
    /* Before the clock is looked at: after a pause it may have been here long. */
    if (link->phase >= HF_PG_OPENING && (readable || link->more))
        read_more(pg);
    if (link->phase != HF_PG_RESTING && link->phase < HF_PG_OPENING &&
        pg->remote.now >= link->due)
        hung(pg, hf_pg_link_patience(pg));
}

void hf_pg_link_flush(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;
    int                rest;

    if (link->phase < HF_PG_OPENING || !hf_pg_calls_send(pg))
        return;
    rest = PQflush(link->conn);
    if (rest < 0)
        hung_up(pg);
    else if (!hf_pg_socket_look(pg, rest > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN))
        hf_pg_link_break(pg, "cannot be watched: out of memory");
}

hf_time hf_pg_link_wake(const struct hf_pg *pg)
{
    const struct hf_pg_link *link = &pg->link;

    if (link->phase == HF_PG_RESTING && link->cancel.aside != NULL &&
        link->cancel.server == link->server && link->cancel.limit > link->due)
        return link->cancel.limit;
    if (link->phase < HF_PG_OPENING)
        return link->due;
    return link->more ? 0 : HF_NEVER;
}

void hf_pg_link_ready(struct hf_pg *pg)
{
    struct hf_pg_link *link = &pg->link;

    assert(link->phase == HF_PG_OPENING || link->phase == HF_PG_READY);
    link->phase = HF_PG_READY;
    link->tried = link->rounds = 0;
    hf_retry_reset(&link->retry);
    pg->served.base.errmsg[0] = '\0';
    hf_store_set_link(&pg->served.base, HF_LINK_UP);
}

/* ---- Both ends of its life --------------------------------------------------------- */

void hf_pg_link_init(struct hf_pg *pg, uint64_t seed)
{
    hf_retry_init(&pg->link.retry, 50 * HF_MS, HF_SEC, seed);
    pg->link.fd = -1;
}

void hf_pg_link_finish(struct hf_pg *pg)
{
    hf_pg_find_end(pg);
    close_conn(pg);
    pg->link.phase = HF_PG_RESTING;
    hf_pg_calls_drop(pg);
    hf_pg_cancel_await(pg, hf_now() + FAREWELL);
    hf_pg_cancel_end(pg);
}
