/* frames.c - what a server says: its greeting, answers, events.
 *
 * Bytes are kept until a frame is whole.  The first one on a connection is the
 * greeting: our session, or that it is dead.
 */
#include "base/grow.h"
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <string.h>

#define ROOM_FIRST ((size_t)64 * 1024)
#define READ_LEAST 4096 /* bytes at once */

/* ---- Greeted ------------------------------------------------------------------------- */

void hf_zk_put_auth(const struct hf_zk *zk, struct hf_zk_writer *out)
{
    if (zk->config.auth == NULL)
        return;
    size_t begin = hf_zk_frame_begin(out);
    hf_zk_put_int(out, HF_ZK_XID_AUTH);
    hf_zk_put_int(out, HF_ZK_AUTH);
    hf_zk_put_int(out, 0);
    hf_zk_put_string(out, "digest");
    hf_zk_put_bytes(out, zk->config.auth, strlen(zk->config.auth));
    hf_zk_frame_end(out, begin);
}

void hf_zk_frames_ready(struct hf_zk *zk)
{
    hf_dial_ready(&zk->dial); /* sends nothing yet: requests come behind all this */
    hf_zk_chroot_make(zk);
    hf_zk_watched_restore(zk);
    hf_zk_watches_resume(zk);
}

static void be_greeted(struct hf_zk *zk, int64_t session, int32_t timeout,
                       struct hf_zk_text password, hf_time answered)
{
    struct hf_zk_link *link = &zk->link;
    bool               fresh = link->session == 0 || link->executes; /* not greeted yet */

    assert(zk->dial.phase == HF_DIAL_GREETING);
    assert(link->session == 0 || link->session == session);
    link->session = session;
    memset(link->password, 0, sizeof link->password);
    memcpy(link->password, password.bytes,
           password.size < sizeof link->password ? password.size : sizeof link->password);
    hf_zk_beat_start(zk, timeout * HF_MS, answered, fresh);
    hf_dial_allow_all(&zk->dial); /* from now on beat.c notices silence */
    hf_zk_put_auth(zk, &zk->calls.out);
    if (link->executes) {
        hf_dial_ready(&zk->dial);
        hf_zk_will_execute(zk);
    } else if (link->zxid == 0) {
        hf_zk_frames_ready(zk);
    } else {
        hf_zk_link_prove(zk);
    }
}

/* A server without a quorum sends an answer where a greeting should be. */
static bool is_read_only(struct hf_zk_reader frame)
{
    hf_zk_get_int(&frame);
    hf_zk_get_long(&frame);
    int32_t error = hf_zk_get_int(&frame);
    return !frame.bad && frame.at == frame.size && error == HF_ZK_NOT_READ_ONLY;
}

/* No deadline can be kept with so short a session.  If we have one, it is as short from
 * now on. */
static void refuse_short(struct hf_zk *zk, int32_t timeout, hf_time answered)
{
    if (zk->link.session != 0)
        hf_zk_beat_greeted(zk, timeout * HF_MS, answered);
    hf_dial_break(&zk->dial, "gives sessions less than 2 s; raise maxSessionTimeout");
}

static void take_greeting(struct hf_zk *zk, struct hf_zk_reader frame, hf_time answered)
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

static void take_event(struct hf_zk *zk, struct hf_zk_reader *frame)
{
    int32_t type = hf_zk_get_int(frame);

    hf_zk_get_int(frame); /* the state of the connection: we know better */
    struct hf_zk_text path = hf_zk_get_text(frame);
    if (frame->bad) {
        hf_dial_break(&zk->dial, "sends events that make no sense");
        return;
    }
    hf_zk_survey_event(zk, path);
    hf_zk_watched_event(zk, type, path);
}

static void take_frame(struct hf_zk *zk, struct hf_zk_reader frame, hf_time answered)
{
    struct hf_zk_reader head = frame;
    int32_t             xid = hf_zk_get_int(&head);
    int64_t             zxid = hf_zk_get_long(&head);
    int32_t             error = hf_zk_get_int(&head);

    zk->beat.heard = answered;
    switch (head.bad ? 0 : xid) {
    case HF_ZK_XID_EVENT:
        take_event(zk, &head);
        break;
    case HF_ZK_XID_PING:
        hf_zk_link_saw(zk, zxid);
        hf_zk_beat_pong(zk, answered);
        break;
    case HF_ZK_XID_AUTH:
        if (error != 0) /* with any other server it would be the same */
            hf_dial_refuse(&zk->dial, HF_EDENIED, "refuses user and password");
        break;
    case HF_ZK_XID_SET_WATCHES:
        hf_zk_watched_restored(zk);
        break;
    default:
        if (error == HF_ZK_SESSION_EXPIRED)
            hf_zk_link_lose(zk, "says that our session has expired");
        else if (error == HF_ZK_SESSION_MOVED)
            hf_dial_break(&zk->dial, "says that our session has moved");
        else if (!hf_zk_calls_answer(zk, frame, answered))
            hf_dial_break(&zk->dial, "answers what was not asked");
    }
}

/* ---- Reading ------------------------------------------------------------------------- */

/* An answer that is longer than we take in: its call fails, and the rest is let pass by.
 * False: it is no answer. */
static bool skip_overlong(struct hf_zk *zk, size_t *at, hf_time answered)
{
    struct hf_zk_link  *link = &zk->link;
    struct hf_zk_reader head = hf_zk_reader_on(link->in + *at, link->used - *at);
    int32_t             length = hf_zk_get_int(&head);
    int32_t             xid = hf_zk_get_int(&head);

    if (zk->dial.phase != HF_DIAL_READY || length < 0)
        return false;
    if (head.bad)
        return true; /* more is to come */
    size_t all = (size_t)length + 4, have = link->used - *at;
    if (have >= all)
        return false;
    link->skip = all - have;
    *at = link->used;
    return hf_zk_calls_overlong(zk, xid, answered);
}

/* Take every whole frame.  Returns how many bytes the next one needs in all. */
static size_t take_frames(struct hf_zk *zk, hf_time answered)
{
    struct hf_zk_link *link = &zk->link;
    size_t             at = link->skip < link->used ? link->skip : link->used;
    long               size;

    link->skip -= at;
    if (at > 0)
        zk->beat.heard = answered;
    while ((size = hf_zk_frame_size(link->in + at, link->used - at)) >= 0) {
        struct hf_zk_reader frame = hf_zk_reader_on(link->in + at + 4, (size_t)size);
        at += 4 + (size_t)size;
        if (!hf_zk_link_is_greeted(zk))
            take_greeting(zk, frame, answered);
        else
            take_frame(zk, frame, answered);
        if (zk->dial.phase < HF_DIAL_GREETING)
            return 0; /* it broke */
    }
    if (size == -2 && !skip_overlong(zk, &at, answered))
        hf_dial_break(&zk->dial, "does not speak ZooKeeper's protocol");
    if (zk->dial.phase < HF_DIAL_GREETING)
        return 0;
    assert(at <= link->used);
    link->used -= at;
    memmove(link->in, link->in + at, link->used);
    return link->used + 1;
}

void hf_zk_frames_read(struct hf_dial *dial)
{
    struct hf_zk      *zk = (struct hf_zk *)dial->store;
    struct hf_zk_link *link = &zk->link;
    size_t             need = ROOM_FIRST;

    dial->more = false;
    for (int round = 0; round < 64; round++) {
        if (need < link->used + READ_LEAST)
            need = link->used + READ_LEAST;
        unsigned char *in = hf_grow(link->in, &link->room, need, 1);
        if (in == NULL) {
            hf_dial_break(dial, "sent more than there is memory for");
            return;
        }
        link->in = in;
        assert(link->used < link->room);
        size_t room = link->room - link->used;
        size_t n = hf_dial_read(dial, link->in + link->used, room);
        if (n == 0)
            return;
        link->used += n;
        bool drained = n < room && dial->stream.ssl == NULL;
        need = take_frames(zk, dial->heard);
        if (need == 0 || drained)
            return;
    }
    dial->more = true;
}
