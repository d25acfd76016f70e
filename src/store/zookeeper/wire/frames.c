/* frames.c - the frames that a server sends: its greeting (link.c), answers, events.
 *
 * Bytes are kept until a frame is complete.
 */
#include "base/grow.h"
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <string.h>

#define ROOM_FIRST ((size_t)64 * 1024)
#define READ_LEAST 4096 /* bytes at once */

static void take_event(struct hf_zk *zk, struct hf_zk_reader *frame)
{
    int32_t type = hf_zk_get_int(frame);

    hf_zk_get_int(frame); /* the state of the connection, which we know */
    struct hf_zk_text path = hf_zk_get_text(frame);
    if (frame->bad) {
        hf_dial_break(&zk->dial, "sends events that make no sense");
        return;
    }
    if (zk->store_watch.state == HF_ZK_WATCH_STORE_ON)
        hf_zk_watch_store_event(zk, path);
    hf_zk_watched_event(zk, type, path);
}

static void take_frame(struct hf_zk *zk, struct hf_zk_reader frame, hf_time answered)
{
    int32_t            xid = hf_zk_get_int(&frame);
    struct hf_zk_reply reply = { .zxid = hf_zk_get_long(&frame) };

    reply.error = hf_zk_get_int(&frame);
    reply.body = frame;
    zk->beat.heard = answered;
    switch (frame.bad ? 0 : xid) {
    case HF_ZK_XID_EVENT:
        take_event(zk, &reply.body);
        break;
    case HF_ZK_XID_PING:
        hf_zk_link_saw(zk, reply.zxid);
        hf_zk_beat_pong(zk, answered);
        break;
    case HF_ZK_XID_AUTH:
        if (reply.error != 0) /* any other server would refuse, too */
            hf_dial_refuse(&zk->dial, HF_EDENIED, "rejects the user or the password");
        break;
    default:
        if (reply.error == HF_ZK_SESSION_EXPIRED)
            hf_zk_link_lose(zk, "says that our session has expired");
        else if (reply.error == HF_ZK_SESSION_MOVED)
            hf_dial_break(&zk->dial, "says that our session has moved");
        else if (frame.bad || !hf_zk_calls_answer(zk, xid, reply, answered))
            hf_dial_break(&zk->dial, "sends an answer to no request");
    }
}

/* ---- Reading ------------------------------------------------------------------------ */

/* An answer that is too long: its call fails, and its bytes are skipped.  False: it is
 * not an answer. */
static bool skip_overlong(struct hf_zk *zk, size_t *at, hf_time answered)
{
    struct hf_zk_link  *link = &zk->link;
    struct hf_zk_reply  reply = { .error = HF_ZK_OVERLONG, .body = { .bad = true } };
    struct hf_zk_reader head = hf_zk_reader_on(link->in + *at, link->used - *at);
    int32_t             length = hf_zk_get_int(&head);
    int32_t             xid = hf_zk_get_int(&head);

    if (zk->dial.phase != HF_DIAL_READY || length < 0)
        return false;
    if (head.bad)
        return true; /* more bytes are to come */
    size_t all = (size_t)length + 4, have = link->used - *at;
    if (have >= all)
        return false;
    link->skip = all - have;
    *at = link->used;
    return hf_zk_calls_answer(zk, xid, reply, answered);
}

/* Handle every complete frame.  Returns how many bytes the next one needs in total. */
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
            hf_zk_link_take_greeting(zk, frame, answered);
        else
            take_frame(zk, frame, answered);
        if (zk->dial.phase < HF_DIAL_GREETING)
            return 0; /* the connection broke */
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
