/* link.c - the connection for calls: its time limits, how it is made and how it ends.
 *
 * store/remote/dial.h draws its states.  In GREETING the wire logs in, and the session says
 * hello. */
#include "store/mariadb/inner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define STEP_MOST  (2 * HF_SEC)
#define HELLO_MOST (60 * HF_SEC)

/* ---- Time limits ------------------------------------------------------------------ */

/* Doubled after every round in which no server could be reached. */
static hf_time step_patience(const struct hf_maria *maria)
{
    return hf_dial_doubled(maria->config.ttl / 6, maria->main.dial.rounds, STEP_MOST);
}

/* A server that does not answer hello may be waiting for its disk, or for a lock on our
 * tables.  Trying again soon does not help, unless there is another server. */
hf_time hf_maria_limit(const struct hf_maria *maria)
{
    hf_time limit = maria->config.ttl / 3;

    return maria->main.dial.phase == HF_DIAL_GREETING &&
                   hf_dial_is_alone(&maria->main.dial) && limit < HELLO_MOST
               ? hf_dial_doubled(limit, maria->main.dial.rounds, HELLO_MOST)
               : limit;
}

/* Once we are logged in, the session checks how long calls take. */
static hf_time patience(const struct hf_dial *dial)
{
    return step_patience((const struct hf_maria *)dial->store);
}

/* Short pauses while a session with places is running out. */
static hf_time pause_most(const struct hf_dial *dial)
{
    const struct hf_maria *maria = (const struct hf_maria *)dial->store;

    return maria->served.places > 0 ? maria->config.ttl / 20 : HF_NEVER;
}

static void say_late(hf_time limit, char *ret, size_t size)
{
    snprintf(ret, size, "does not answer within %.1f s", (double)limit / HF_SEC);
}

static void say_late_step(const struct hf_dial *dial, char *ret, size_t size)
{
    say_late(step_patience((const struct hf_maria *)dial->store), ret, size);
}

void hf_maria_hung(struct hf_maria *maria)
{
    char why[HF_ERRMSG_MAX];

    say_late(hf_maria_limit(maria), why, sizeof why);
    snprintf(why + strlen(why), sizeof why - strlen(why),
             ": is it overloaded, or slowed down by an open transaction? See `holdfast "
             "doctor`");
    hf_dial_hung(&maria->main.dial, why);
}

/* ---- Begin and end of a connection ------------------------------------------------ */

static void find_server(struct hf_dial *dial)
{
    const struct hf_maria *maria = (const struct hf_maria *)dial->store;

    if (maria->config.path[0] != '\0') {
        hf_dial_connect_path(dial, maria->config.path);
        return;
    }
    hf_dial_choose(dial);
    hf_dial_look_up(dial);
}

static void link_over(struct hf_dial *dial)
{
    struct hf_maria *maria = (struct hf_maria *)dial->store;

    assert(dial->phase == HF_DIAL_RESTING);
    hf_maria_waker_close(maria);
    hf_my_conn_over(dial);
    hf_maria_calls_drop(maria);
    hf_maria_session_broken(maria);
}

/* Both connections: the server is about to ask for the password. */
void hf_maria_greet(struct hf_dial *dial)
{
    struct hf_maria *maria = (struct hf_maria *)dial->store;

    hf_maria_config_reread(&maria->config);
    maria->login.user = maria->config.user;
    maria->login.password = maria->config.password;
    hf_my_conn_greet(dial);
}

static const struct hf_dial_ops ops = {
    .kind = "MariaDB",
    .is_link = true,
    .loyal = true,
    .shares = HF_DIAL_GREETING,
    .find = find_server,
    .greet = hf_maria_greet,
    .read = hf_my_conn_read,
    .over = link_over,
    .patience = patience,
    .pause_most = pause_most,
    .late = say_late_step,
};

void hf_maria_link_init(struct hf_maria *maria, uint64_t seed)
{
    maria->login = (struct hf_my_login){ .tls = maria->tls };
    maria->main = (struct hf_my_conn){ .dial = { .ops = &ops,
                                                 .store = &maria->served.base,
                                                 .now = &maria->remote.now,
                                                 .list = maria->config.server,
                                                 .servers = maria->config.servers },
                                       .login = &maria->login,
                                       .on_login = hf_maria_session_begin };
    if (maria->config.path[0] != '\0') { /* one server, without a port */
        snprintf(maria->config.server[0].host, sizeof maria->config.server[0].host, "%s",
                 maria->config.path);
        maria->main.dial.servers = 1;
    }
    hf_dial_init(&maria->main.dial, seed);
}
