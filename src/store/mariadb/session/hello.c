/* hello.c - the first calls on a connection: open the session, or prove that it is still
 * there; make tables and functions first, if there are none.
 *
 *     tune --> hello --> keep_history --> READY
 *               | ^
 *               v |
 *             make_schema
 */
#include "store/mariadb/inner.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STRING_(x)        #x
#define VERSION_(a, b, c) STRING_(a) "." STRING_(b) "." STRING_(c)
#define WHO               "holdfast " VERSION_(HF_VERSION_MAJOR, HF_VERSION_MINOR, HF_VERSION_PATCH)

/* ---- The schema ----------------------------------------------------------------- */

static void on_schema(struct hf_maria *maria, void *data, const struct hf_my_reply *reply)
{
    (void)data;
    if (!hf_maria_session_failed(maria, reply, hf_maria_hello))
        hf_maria_hello(maria);
}

static void make_schema(struct hf_maria *maria)
{
    if (maria->served.only_ends) { /* without tables there is no such session */
        hf_served_ended(&maria->served);
        return;
    }
    if (maria->session.made) { /* we have made it, and still cannot use it */
        hf_dial_refuse(&maria->main.dial, HF_ESTORE,
                       "has tables hf_... that are not those of Holdfast");
        return;
    }
    assert(maria->main.dial.phase == HF_DIAL_GREETING);
    maria->session.made = true;
    hf_maria_schema_make(maria, on_schema);
}

/* ---- Hello ---------------------------------------------------------------------- */

static void session_opened(struct hf_maria *maria)
{
    assert(!maria->served.fresh);
    hf_maria_session_extend(maria);
    if (maria->served.places > 0)
        maria->session.due = maria->session.sent; /* its answer says who is in our way */
    hf_dial_ready(&maria->main.dial);
    hf_dial_proven(&maria->main.dial);
    hf_maria_waker_begin(maria);
}

static void keep_history(struct hf_maria *maria);

static void on_history_kept(struct hf_maria *maria, void *data,
                            const struct hf_my_reply *reply)
{
    (void)data;
    if (hf_maria_session_failed(maria, reply, keep_history))
        return;
    maria->session.history_kept = true;
    session_opened(maria);
}

/* Once for each client, before it is READY. */
static void keep_history(struct hf_maria *maria)
{
    if (maria->config.history < 0 || maria->session.history_kept) {
        session_opened(maria);
        return;
    }
    hf_maria_begin(maria, "hf_keep_history");
    hf_maria_add_number(&maria->served, (uint64_t)maria->config.history);
    hf_maria_send(maria, &maria->session.call, true, on_history_kept, NULL);
}

static void other_version(struct hf_maria *maria, int64_t version)
{
    char why[HF_ERRMSG_MAX];

    snprintf(why, sizeof why,
             "has tables of another version of Holdfast: they are of version %" PRId64
             ", ours of %u",
             version, hf_maria_schema_version);
    hf_dial_refuse(&maria->main.dial, HF_EUNSUPPORTED, why);
}

/* { code, version, connection, number, era } */
static void take_hello(struct hf_maria *maria, const struct hf_my_reply *reply)
{
    int64_t code = hf_my_number(reply, 0, 0), version = hf_my_number(reply, 0, 1);

    if (code == HF_SERVED_VERSION && version < hf_maria_schema_version &&
        !maria->session.made) {
        make_schema(maria); /* replaces the old one if that has no sessions */
    } else if (code == HF_SERVED_VERSION) {
        other_version(maria, version);
    } else if (code == HF_SERVED_GONE) {
        hf_maria_session_restart(&maria->served);
    } else if (code != HF_SERVED_DONE || reply->rows == 0) {
        hf_dial_break(&maria->main.dial, "has a newer connection of ours");
    } else {
        int64_t thread = hf_my_number(reply, 0, 2);
        maria->waker.pooled = thread != maria->main.thread;
        maria->session.thread = maria->waker.pooled ? 0 : (uint64_t)thread;
        maria->served.fresh = false;
        hf_expiry_drew(&maria->expiry.plan, hf_my_number(reply, 0, 3),
                       hf_my_text(reply, 0, 4));
        keep_history(maria);
    }
}

static void on_hello(struct hf_maria *maria, void *data, const struct hf_my_reply *reply)
{
    (void)data;
    if (reply != NULL && hf_maria_fault(maria, reply) == HF_SERVED_MISSING)
        make_schema(maria);
    else if (!hf_maria_session_failed(maria, reply, hf_maria_hello))
        take_hello(maria, reply);
}

void hf_maria_hello(struct hf_maria *maria)
{
    struct hf_maria_session *session = &maria->session;

    assert(maria->main.dial.phase == HF_DIAL_GREETING && !session->call.pending);
    session->sent = hf_now();
    hf_maria_begin_call(maria, "hf_hello");
    hf_maria_add_number(&maria->served, hf_maria_schema_version);
    hf_maria_add(&maria->served, maria->served.sid);
    hf_maria_add_number(&maria->served, session->connection);
    hf_maria_add_number(&maria->served, (uint64_t)(maria->config.ttl / HF_MS));
    hf_maria_add_number(&maria->served, maria->served.fresh);
    hf_maria_add(&maria->served, WHO);
    hf_maria_add_number(&maria->served, session->thread);
    hf_maria_add(&maria->served, maria->expiry.plan.drawn.era);
    hf_maria_send(maria, &session->call, true, on_hello, NULL);
}

/* ---- The server ------------------------------------------------------------------- */

/* False: this server is none for us, and was refused. */
static bool check_server(struct hf_maria *maria)
{
    unsigned    major = 0, minor = 0;
    const char *version = maria->main.version;
    char        why[HF_ERRMSG_MAX];

    if (strstr(version, "MariaDB") != NULL &&
        (sscanf(version, "%u.%u", &major, &minor) != 2 || major > 10 ||
         (major == 10 && minor >= 6)))
        return true;
    snprintf(
        why, sizeof why,
        "is of version %.60s: Holdfast needs MariaDB 10.6 or later, and does not run on "
        "MySQL",
        version);
    hf_dial_refuse(&maria->main.dial, HF_EUNSUPPORTED, why);
    return false;
}

static void on_tuned(struct hf_maria *maria, void *data, const struct hf_my_reply *reply)
{
    (void)data;
    (void)reply; /* whatever it says: hello will tell */
    (void)maria;
}

/* Our renewals must not come later than wait_timeout.  The user lock shows hf_hello() that the
 * connection is one of this session.  Behind a pooler it would be the lock of many. */
void hf_maria_session_begin(struct hf_my_conn *conn)
{
    struct hf_maria *maria = (struct hf_maria *)conn->dial.store;
    char             text[256];

    assert(conn->dial.phase == HF_DIAL_GREETING);
    hf_dial_allow_all(&conn->dial); /* the session notices silence */
    maria->session.connection++;
    maria->session.again = maria->session.made = false;
    if (!check_server(maria))
        return;
    snprintf(text, sizeof text,
             "SET autocommit = 1, tx_isolation = 'READ-COMMITTED', wait_timeout = 7200, "
             "max_statement_time = 0, sql_select_limit = DEFAULT, @holdfast = "
             "IF(CONNECTION_ID() = %u, GET_LOCK('holdfast.%s.%u', 0), 0)",
             conn->thread, maria->served.sid, conn->thread);
    hf_maria_query(maria, &maria->session.tune, text, on_tuned, NULL);
    if (maria->served.only_ends)
        hf_maria_end_session(maria);
    else
        hf_maria_hello(maria);
}
