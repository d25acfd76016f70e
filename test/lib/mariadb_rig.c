/* mariadb_rig.c - see mariadb_rig.h. */
#include "lib/mariadb_rig.h"

#include "lib/server_control.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define LIMIT (20 * HF_SEC)

static struct mariadb_rig *rig_of(struct hf_dial *dial)
{
    return (struct mariadb_rig *)dial;
}

static void find(struct hf_dial *dial)
{
    struct hf_address   address = { .length = sizeof(struct sockaddr_un) };
    struct sockaddr_un *at = (struct sockaddr_un *)&address.at;

    hf_dial_choose(dial);
    if (dial->here.port[0] != '\0') {
        hf_dial_look_up(dial);
        return;
    }
    at->sun_family = AF_UNIX;
    snprintf(at->sun_path, sizeof at->sun_path, "%.*s", (int)sizeof at->sun_path - 1,
             dial->here.host);
    hf_dial_connect(dial, &address);
}

static void over(struct hf_dial *dial)
{
    rig_of(dial)->overs++;
    hf_my_conn_over(dial);
}

static hf_time patience(const struct hf_dial *dial)
{
    (void)dial;
    return LIMIT;
}

static const struct hf_dial_ops ops = {
    .kind = "MariaDB",
    .is_link = true,
    .find = find,
    .greet = hf_my_conn_greet,
    .read = hf_my_conn_read,
    .over = over,
    .patience = patience,
};

static void on_login(struct hf_my_conn *conn)
{
    rig_of(&conn->dial)->logins++;
    hf_dial_ready(&conn->dial);
}

static void on_link(struct hf_store *store, void *data)
{
    (void)store;
    (void)data;
}

void mariadb_rig_open(struct mariadb_rig *rig, const char *host, const char *port,
                      const char *user, const char *password, struct hf_tls *tls)
{
    char errmsg[HF_ERRMSG_MAX];

    memset(rig, 0, sizeof *rig);
    rig->now = hf_now();
    snprintf(rig->server.host, sizeof rig->server.host, "%s", host);
    snprintf(rig->server.port, sizeof rig->server.port, "%s", port != NULL ? port : "");
    rig->login = (struct hf_my_login){ .user = user, .password = password, .tls = tls };
    rig->store.link = HF_LINK_DOWN;
    rig->store.on_link = on_link;
    rig->store.fd = hf_poll_open(errmsg);
    assert_true(rig->store.fd >= 0);
    rig->conn.login = &rig->login;
    rig->conn.on_login = on_login;
    rig->conn.dial = (struct hf_dial){ .ops = &ops,
                                       .store = &rig->store,
                                       .now = &rig->now,
                                       .list = &rig->server,
                                       .servers = 1 };
    hf_dial_init(&rig->conn.dial, 1);
}

void mariadb_rig_close(struct mariadb_rig *rig)
{
    hf_my_conn_finish(&rig->conn);
    assert_null(rig->conn.first);
    close(rig->store.fd);
}

void mariadb_rig_run(struct mariadb_rig *rig, int ms)
{
    struct pollfd poller = { .fd = rig->store.fd, .events = POLLIN };

    hf_dial_flush(&rig->conn.dial);
    poll(&poller, 1, ms);
    rig->now = hf_now();
    hf_dial_run(&rig->conn.dial, true);
}

bool mariadb_rig_settle(struct mariadb_rig *rig)
{
    hf_time  end = hf_now() + LIMIT;
    unsigned failures = rig->store.failures;

    while (rig->conn.dial.phase != HF_DIAL_READY && rig->store.failures == failures) {
        if (hf_now() > end)
            fail_msg("neither logged in nor refused: %s", rig->store.errmsg);
        mariadb_rig_run(rig, 10);
    }
    return rig->conn.dial.phase == HF_DIAL_READY;
}

static void note_rows(struct mariadb_rig *rig, const struct hf_my_reply *reply)
{
    size_t used = 0;

    rig->rows[0] = '\0';
    for (size_t row = 0; row < reply->rows; row++) {
        for (size_t i = 0; i < hf_my_columns(reply, row); i++) {
            const char *text = hf_my_text(reply, row, i);
            int         n = snprintf(rig->rows + used, sizeof rig->rows - used, "%s%s",
                             i > 0 ? "|" : "", text != NULL ? text : "NULL");
            if ((size_t)n >= sizeof rig->rows - used)
                return;
            used += (size_t)n;
        }
        if (used + 2 > sizeof rig->rows)
            return;
        rig->rows[used++] = '\n';
        rig->rows[used] = '\0';
    }
}

static void on_reply(struct hf_my_conn *conn, void *data, const struct hf_my_reply *reply)
{
    struct mariadb_rig *rig = rig_of(&conn->dial);

    (void)data;
    if (reply == NULL) {
        rig->breaks++;
        return;
    }
    rig->answers++;
    rig->error = reply->error;
    rig->warnings = reply->warnings;
    rig->status = reply->status;
    rig->results = reply->results;
    rig->changed = reply->changed;
    snprintf(rig->state, sizeof rig->state, "%s", reply->state);
    snprintf(rig->message, sizeof rig->message, "%s", reply->message);
    note_rows(rig, reply);
}

void mariadb_rig_send(struct mariadb_rig *rig, struct hf_my_call *call,
                      const struct hf_my_query *query)
{
    hf_my_send(&rig->conn, call, query, on_reply, NULL);
}

const char *mariadb_rig_ask(struct mariadb_rig *rig, const struct hf_my_query *query)
{
    struct hf_my_call call = { .sent = 0 };
    hf_time           end = hf_now() + LIMIT;
    unsigned          before = rig->answers + rig->breaks;

    mariadb_rig_send(rig, &call, query);
    while (rig->answers + rig->breaks == before) {
        if (hf_now() > end)
            fail_msg("no answer to %.100s", query->text);
        mariadb_rig_run(rig, 10);
    }
    return rig->rows;
}

const char *mariadb_rig_ask_text(struct mariadb_rig *rig, const char *text)
{
    struct hf_my_query query = { .text = NULL };

    hf_my_query_begin(&query, text);
    assert_false(query.failed);
    mariadb_rig_ask(rig, &query);
    hf_my_query_finish(&query);
    return rig->rows;
}

/* ---- A real server ---------------------------------------------------------------- */

const char *mariadb_rig_tell(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *said = server_control("HF_MARIADB_CTL", format, args);
    va_end(args);
    return said;
}

void mariadb_rig_dial(struct mariadb_rig *rig, const char *user, const char *password,
                      struct hf_tls *tls)
{
    mariadb_rig_open(rig, "127.0.0.1", getenv("HF_MARIADB_PORT"), user, password, tls);
}

void mariadb_rig_log_in(struct mariadb_rig *rig, const char *user, const char *password,
                        struct hf_tls *tls)
{
    mariadb_rig_dial(rig, user, password, tls);
    if (!mariadb_rig_settle(rig))
        fail_msg("%s", rig->store.errmsg);
}

struct hf_tls *mariadb_rig_tls(const char *ca, const char *cert, const char *key)
{
    struct hf_tls_options options = { .ca = getenv(ca),
                                      .cert = cert != NULL ? getenv(cert) : NULL,
                                      .key = key != NULL ? getenv(key) : NULL };
    char                  errmsg[HF_ERRMSG_MAX];
    struct hf_tls        *tls;

    if (hf_tls_new(&options, errmsg, sizeof errmsg, &tls) != 0)
        fail_msg("%s", errmsg);
    return tls;
}

bool mariadb_rig_has_server(void)
{
    char errmsg[HF_ERRMSG_MAX];

    if (getenv("HF_MARIADB_CTL") == NULL) {
        puts("# SKIP no server of its own: see test/server/mariadb.py");
        return false;
    }
    if (hf_tls_load("mariadb", errmsg, sizeof errmsg) != 0) {
        printf("# SKIP %s\n", errmsg);
        return false;
    }
    return true;
}
