/* link.c - the session, on a connection to one of the servers.
 *
 * store/remote/dial.h draws the connection.  GREETING has two steps:
 *
 *     connect --our session is unknown-------------------------------> LOST
 *        |
 *        +--in our session, or a new one; and we have
 *             seen nothing yet --------------------------------------> READY
 *             seen something --> write --it is newer than that-------> READY
 *                                  |
 *                                  +-----it is older--> CLOSE -------> LOST
 *
 * A server that lags behind must not serve us before it has caught up with what we have
 * seen. ZooKeeper's own way is that the client names the last zxid that it saw, and a
 * server that has not reached it hangs up.  But servers that have gone back in time
 * (restored from a backup, or without their data) never reach it, and would hang up
 * forever.  So we name none.  Instead the server has to carry out a write: by then it
 * knows everything that was done before.  The zxid of that write is higher than any that
 * we have seen, unless the servers have gone back.  In that case our places may be gone,
 * and places that we had left may be back: we end the session with everything in it, and
 * report why.
 *
 * When the connection breaks, calls in flight are answered with HF_ZK_CONNECTION_LOSS.
 * A server that does not know our session any more says that it is dead: everything in
 * it is gone, and the next greeting asks for a new one.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define STEP_MOST (2 * HF_SEC)
#define FAREWELL  (100 * HF_MS) /* how long close waits at most, if we have places */

/* ---- Timeouts ----------------------------------------------------------------------- */

/* Is there a session that another server may save?  A session without an answer for its
 * whole timeout is dead, and then a slow server needs the time to say so. */
static bool may_live(const struct hf_zk *zk)
{
    return zk->link.session != 0 && zk->remote.now < zk->beat.heard + zk->link.timeout;
}

/* How long one server may take until the next is tried.  GREETING, which creates or finds
 * the session, may take longer each time: otherwise a slow server would never be used,
 * and each try may leave a session behind. */
static hf_time server_patience(const struct hf_dial *dial)
{
    const struct hf_zk *zk = (const struct hf_zk *)dial->store;
    hf_time             limit = zk->config.session_ms * HF_MS / 6;
    hf_time most = may_live(zk) ? zk->link.timeout / 3 : zk->config.session_ms * HF_MS;

    if (limit > STEP_MOST)
        limit = STEP_MOST;
    return dial->phase == HF_DIAL_GREETING ? hf_dial_doubled(limit, dial->slow, most)
                                           : limit;
}

/* After the session of a session key is dead, there is nothing left to do. */
static bool may_connect(const struct hf_dial *dial)
{
    const struct hf_zk_link *link = &((const struct hf_zk *)dial->store)->link;

    return !link->ends_session || link->session != 0;
}

/* While we have a place, pauses are short: the session is running out. */
static hf_time server_pause_most(const struct hf_dial *dial)
{
    const struct hf_zk *zk = (const struct hf_zk *)dial->store;

    return zk->own_count > 0 ? zk->link.timeout / 20 : HF_NEVER;
}

/* ---- Begin and end of a connection -------------------------------------------------- */

/* No zxid, see above.  readOnly is set only so that a server without a quorum says so,
 * instead of just hanging up. */
void hf_zk_put_connect(const struct hf_zk *zk, int64_t session,
                       const unsigned char password[16], struct hf_zk_writer *out)
{
    size_t begin = hf_zk_frame_begin(out);

    hf_zk_put_int(out, 0);
    hf_zk_put_long(out, 0);
    hf_zk_put_int(out, zk->config.session_ms);
    hf_zk_put_long(out, session);
    hf_zk_put_bytes(out, password, 16);
    hf_zk_put_byte(out, true);
    hf_zk_frame_end(out, begin);
}

static void put_identity(const char *auth, struct hf_zk_writer *out)
{
    size_t begin = hf_zk_frame_begin(out);
    hf_zk_put_int(out, HF_ZK_XID_AUTH);
    hf_zk_put_int(out, HF_ZK_AUTH);
    hf_zk_put_int(out, 0);
    hf_zk_put_string(out, "digest");
    hf_zk_put_bytes(out, auth, strlen(auth));
    hf_zk_frame_end(out, begin);
}

/* To ZooKeeper another password is another identity, and what we have made belongs to the
 * former one: a connection may have both. */
void hf_zk_put_auth(struct hf_zk *zk, struct hf_zk_writer *out)
{
    hf_zk_config_reread(&zk->config);
    if (zk->config.former != NULL)
        put_identity(zk->config.former, out);
    if (zk->config.auth != NULL)
        put_identity(zk->config.auth, out);
}

static void send_connect(struct hf_dial *dial)
{
    struct hf_zk      *zk = (struct hf_zk *)dial->store;
    struct hf_zk_link *link = &zk->link;

    assert(zk->calls.first == NULL && zk->calls.out.used == 0);
    hf_zk_put_connect(zk, link->session, link->password, &zk->calls.out);
    link->greeted = zk->remote.now;
    hf_zk_link_flush(zk);
}

static void connection_over(struct hf_dial *dial)
{
    struct hf_zk *zk = (struct hf_zk *)dial->store;

    assert(dial->phase == HF_DIAL_RESTING);
    zk->link.used = zk->link.skip = 0;
    hf_zk_calls_fail(zk);
    hf_zk_lines_fail(zk);
    hf_zk_groups_fail(zk);
    hf_zk_watch_store_disconnected(zk);
    assert(zk->calls.first == NULL && zk->to_list == NULL);
}

/* The first call follows the greeting. */
bool hf_zk_link_is_greeted(const struct hf_zk *zk)
{
    return zk->dial.phase == HF_DIAL_READY ||
           (zk->dial.phase == HF_DIAL_GREETING && zk->calls.first != NULL);
}

/* Not before READY: watches are restored as of what was seen before. */
void hf_zk_link_saw(struct hf_zk *zk, int64_t zxid)
{
    if (zk->dial.phase == HF_DIAL_READY && zxid > zk->link.zxid)
        zk->link.zxid = zxid;
}

void hf_zk_link_flush(struct hf_zk *zk)
{
    struct hf_zk_writer *out = &zk->calls.out;

    if (zk->dial.phase < HF_DIAL_GREETING)
        return;
    if (out->used > 0 || out->failed) {
        void *room = out->failed ? NULL : hf_stream_append(&zk->dial.stream, out->used);
        if (room == NULL) {
            hf_dial_break(&zk->dial, "cannot be sent everything: out of memory");
            return;
        }
        memcpy(room, out->bytes, out->used);
        out->used = 0;
        zk->beat.spoke = zk->remote.now;
    }
    hf_dial_flush(&zk->dial);
}

/* ---- Greeted ------------------------------------------------------------------------ */

static void be_ready(struct hf_zk *zk)
{
    hf_dial_ready(&zk->dial); /* sends nothing yet: requests follow after all this */
    hf_zk_chroot_make(zk);
    hf_zk_watched_restore(zk);
    hf_zk_orphans_resume(zk);
    hf_zk_wait_resume(zk);
}

static void on_proof(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    (void)data;
    if (reply->error == HF_ZK_CONNECTION_LOSS)
        return;
    if (reply->zxid < zk->link.zxid) {
        hf_zk_end_session(zk);
        return;
    }
    be_ready(zk);
    hf_zk_link_saw(zk, reply->zxid);
}

static void be_greeted(struct hf_zk *zk, int64_t session, int32_t timeout,
                       struct hf_zk_text password, hf_time answered)
{
    struct hf_zk_link *link = &zk->link;
    bool fresh = link->session == 0 || link->ends_session; /* the session is new to us */

    assert(zk->dial.phase == HF_DIAL_GREETING);
    assert(link->session == 0 || link->session == session);
    link->session = session;
    memset(link->password, 0, sizeof link->password);
    memcpy(link->password, password.bytes,
           password.size < sizeof link->password ? password.size : sizeof link->password);
    hf_zk_beat_start(zk, timeout * HF_MS, answered, fresh);
    hf_dial_allow_all(&zk->dial); /* from now on beat.c notices a silent server */
    hf_zk_put_auth(zk, &zk->calls.out);
    if (link->ends_session) {
        hf_dial_ready(&zk->dial);
        hf_zk_end_session(zk);
    } else if (link->zxid == 0) {
        be_ready(zk);
    } else {
        hf_zk_call_check(zk, &link->proof, hf_zk_root(zk), on_proof, NULL);
    }
}

/* A server without a quorum sends an answer instead of a greeting. */
static bool is_read_only(struct hf_zk_reader frame)
{
    hf_zk_get_int(&frame);
    hf_zk_get_long(&frame);
    int32_t error = hf_zk_get_int(&frame);
    return !frame.bad && frame.at == frame.size && error == HF_ZK_NOT_READ_ONLY;
}

/* Such a short session is useless for deadlines.  If we have one, it is that short from
 * now on. */
static void refuse_short(struct hf_zk *zk, int32_t timeout, hf_time answered)
{
    if (zk->link.session != 0)
        hf_zk_beat_greeted(zk, timeout * HF_MS, answered);
    hf_dial_break(&zk->dial, "gives sessions less than 2 s; raise maxSessionTimeout");
}

void hf_zk_link_take_greeting(struct hf_zk *zk, struct hf_zk_reader frame,
                              hf_time answered)
{
    bool              no_quorum = is_read_only(frame);
    int32_t           version = hf_zk_get_int(&frame);
    int32_t           timeout = hf_zk_get_int(&frame);
    int64_t           session = hf_zk_get_long(&frame);
    struct hf_zk_text password = hf_zk_get_text(&frame);
    bool              bad = frame.bad || version != 0 || password.size > 64;
    bool              none = timeout <= 0 || session == 0;
    bool              read_only = !bad && hf_zk_get_byte(&frame) != 0 && !frame.bad;

    if (bad && !no_quorum)
        hf_dial_break(&zk->dial, "does not speak ZooKeeper's protocol");
    else if (read_only || no_quorum)
        hf_dial_break(&zk->dial, "is read-only: it has lost its quorum");
    else if (none && zk->link.session == 0)
        hf_dial_break(&zk->dial, "gives us no session");
    else if (none || (zk->link.session != 0 && session != zk->link.session))
        hf_zk_link_lose(zk, "says that our session has expired");
    else if (timeout < 2000)
        refuse_short(zk, timeout, answered);
    else
        be_greeted(zk, session, timeout, password, answered);
}

/* ---- The end of the session --------------------------------------------------------- */

void hf_zk_link_end(struct hf_zk *zk)
{
    const char *why =
        "has gone back in time (was it restored from a backup?): it does not "
        "know what it told us before, and tokens fall";

    zk->link.zxid = 0; /* start afresh with what the server knows now */
    hf_store_set_link(
        &zk->base,
        HF_LINK_DOWN); /* so that LOST is reported, even if it was LOST before */
    hf_zk_link_lose(zk, zk->link.ends_session ? "has ended the session" : why);
}

void hf_zk_link_lose(struct hf_zk *zk, const char *why)
{
    assert(zk->dial.phase >= HF_DIAL_GREETING); /* only a server can say so */
    zk->link.session = 0;
    memset(zk->link.password, 0, sizeof zk->link.password);
    hf_dial_say(&zk->dial, why);
    hf_remote_lose(&zk->remote);
}

/* ---- Open and close ----------------------------------------------------------------- */

static const struct hf_dial_ops ops = {
    .kind = "ZooKeeper",
    .plain = "zk:",
    .secure = "zks:",
    .doubt = "does it have a quorum?",
    .is_link = true,
    .shuffle = true,
    .shares = HF_DIAL_CONNECTING,
    .may_begin = may_connect,
    .greet = send_connect,
    .read = hf_zk_frames_read,
    .over = connection_over,
    .patience = server_patience,
    .pause_most = server_pause_most,
};

void hf_zk_link_init(struct hf_zk *zk, uint64_t seed)
{
    zk->dial = (struct hf_dial){ .ops = &ops,
                                 .store = &zk->base,
                                 .now = &zk->remote.now,
                                 .list = zk->config.server,
                                 .servers = zk->config.servers,
                                 .tls = zk->tls };
    hf_dial_init(&zk->dial, seed);
}

/* Wait until the server hangs up: then the session has ended and its nodes are gone. */
static void await_end(struct hf_zk *zk)
{
    struct hf_stream *stream = &zk->dial.stream;
    hf_time           end = hf_now() + FAREWELL;
    unsigned char     unread[4096];

    while (stream->state == HF_STREAM_OPEN && hf_now() < end) {
        struct pollfd poll_fd = { .fd = stream->fd,
                                  .events = (short)hf_stream_events(stream) };
        if (poll(&poll_fd, 1, hf_poll_ms(hf_now(), end)) <= 0)
            continue;
        hf_stream_flush(stream);
        while (hf_stream_read(stream, unread, sizeof unread) > 0)
            continue;
    }
}

void hf_zk_link_finish(struct hf_zk *zk)
{
    if (zk->dial.phase == HF_DIAL_READY) {
        struct hf_zk_writer *out = &zk->calls.out;
        size_t               begin = hf_zk_frame_begin(out);
        hf_zk_put_int(out, 0);
        hf_zk_put_int(out, HF_ZK_CLOSE);
        hf_zk_frame_end(out, begin);
        if (!out->failed)
            hf_zk_link_flush(zk);
        if (zk->own_count > 0 && zk->dial.phase == HF_DIAL_READY)
            await_end(zk);
    }
    hf_dial_close(&zk->dial);
    explicit_bzero(zk->link.password, sizeof zk->link.password);
    free(zk->link.in);
}
