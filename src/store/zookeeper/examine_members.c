/* examine_members.c - what each server of the URL shows of one node, in a session of its own.
 *
 *     connect --> sync, exists, close --> answered
 *        |              |
 *        +--------------+--> it is not there, hangs up, or is silent for a second
 *
 * A server that answers `sync` knows all that had been done before it was asked.
 */
#include "store/zookeeper/examine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT HF_SEC

enum { XID_SYNC = 1, XID_EXISTS, XID_CLOSE };

struct hf_zk_member {
    struct hf_dial        dial; /* first */
    struct hf_zk_members *members;
    bool                  over;
    bool                  asked;
    unsigned char         in[HF_ZK_PATH_MAX + 1024];
    size_t                used;
};

/* ---- One of them ---------------------------------------------------------------------- */

static void send_messages(struct hf_zk_member *member, struct hf_zk_writer *out)
{
    void *room = out->failed ? NULL : hf_stream_append(&member->dial.stream, out->used);

    if (room != NULL)
        memcpy(room, out->bytes, out->used);
    hf_zk_writer_finish(out);
    if (room == NULL)
        hf_dial_close(&member->dial);
    else
        hf_dial_flush(&member->dial);
}

static void greet_member(struct hf_dial *dial)
{
    static const unsigned char no_password[16];
    struct hf_zk_writer        out = { 0 };

    hf_zk_put_connect((const struct hf_zk *)dial->store, 0, no_password, &out);
    send_messages((struct hf_zk_member *)dial, &out);
}

static void put_question(struct hf_zk_writer *out, int32_t xid, enum hf_zk_opcode opcode,
                         const char *path)
{
    size_t begin = hf_zk_frame_begin(out);

    hf_zk_put_int(out, xid);
    hf_zk_put_int(out, (int32_t)opcode);
    if (path != NULL)
        hf_zk_put_string(out, path);
    if (opcode == HF_ZK_EXISTS)
        hf_zk_put_byte(out, false);
    hf_zk_frame_end(out, begin);
}

static void ask_member(struct hf_zk_member *member)
{
    struct hf_zk_writer out = { 0 };
    const char         *path = member->members->path;

    member->asked = true;
    hf_zk_put_auth((const struct hf_zk *)member->dial.store, &out);
    put_question(&out, XID_SYNC, HF_ZK_SYNC, path);
    put_question(&out, XID_EXISTS, HF_ZK_EXISTS, path);
    put_question(&out, XID_CLOSE, HF_ZK_CLOSE, NULL);
    send_messages(member, &out);
}

void hf_zk_view_take(struct hf_zk_view *view, int error, struct hf_zk_reader *body)
{
    view->there = error == 0;
    if (view->there)
        hf_zk_get_stat(body, &view->stat);
    view->answered = (view->there && !body->bad) || error == HF_ZK_NO_NODE;
}

/* A server without a quorum may say what it has, but not that it is up to date. */
static void take_statement(struct hf_zk_member *member, struct hf_zk_reader frame)
{
    int32_t xid = hf_zk_get_int(&frame);

    hf_zk_get_long(&frame);
    int32_t error = hf_zk_get_int(&frame);
    if (xid == XID_EXISTS)
        hf_zk_view_take(&member->members->view[member->dial.server], error, &frame);
    if (xid == XID_CLOSE || (xid == XID_SYNC && error != 0))
        hf_dial_close(&member->dial);
}

/* Returns how many bytes were whole messages. */
static size_t take_messages(struct hf_zk_member *member)
{
    size_t at = 0;
    long   size;

    while (!member->over &&
           (size = hf_zk_frame_size(member->in + at, member->used - at)) >= 0) {
        struct hf_zk_reader frame = hf_zk_reader_on(member->in + at + 4, (size_t)size);
        at += 4 + (size_t)size;
        if (member->asked)
            take_statement(member, frame);
        else
            ask_member(member);
    }
    return at;
}

static void read_member(struct hf_dial *dial)
{
    struct hf_zk_member *member = (struct hf_zk_member *)dial;

    while (!member->over) {
        size_t room = sizeof member->in - member->used;
        size_t n = room > 0 ? hf_dial_read(dial, member->in + member->used, room) : 0;
        if (room == 0)
            hf_dial_close(dial); /* no answer to us is so long */
        if (n == 0)
            return;
        member->used += n;
        size_t taken = take_messages(member);
        member->used -= taken;
        memmove(member->in, member->in + taken, member->used);
    }
}

/* No server is tried twice; but each of its addresses. */
static void member_over(struct hf_dial *dial)
{
    ((struct hf_zk_member *)dial)->over = dial->next_address >= dial->addresses;
}

static hf_time member_patience(const struct hf_dial *dial)
{
    (void)dial;
    return LIMIT;
}

static bool is_quiet(const struct hf_dial *dial)
{
    (void)dial;
    return true;
}

static const struct hf_dial_ops ops = {
    .kind = "ZooKeeper",
    .greet = greet_member,
    .read = read_member,
    .over = member_over,
    .patience = member_patience,
    .is_quiet = is_quiet,
};

/* ---- All of them ---------------------------------------------------------------------- */

bool hf_zk_members_ask(struct hf_zk *zk, struct hf_zk_members *members, const char *path,
                       void (*on_end)(struct hf_zk *zk, void *data), void *data)
{
    size_t count = zk->config.servers;

    assert(!members->open && members->member == NULL);
    members->member = calloc(count, sizeof *members->member);
    if (members->member == NULL)
        return false;
    members->open = true;
    members->zk = zk;
    members->path = path;
    members->count = count;
    members->due = zk->remote.now + 2 * LIMIT;
    members->on_end = on_end;
    members->data = data;
    for (size_t i = 0; i < count; i++) {
        struct hf_zk_member *member = &members->member[i];
        member->members = members;
        member->dial = (struct hf_dial){ .ops = &ops,
                                         .store = &zk->base,
                                         .now = &zk->remote.now,
                                         .list = zk->config.server,
                                         .servers = count,
                                         .next = i,
                                         .tls = zk->tls };
        hf_dial_init(&member->dial, 0);
    }
    members->next = zk->members;
    zk->members = members;
    zk->base.wake = 0;
    return true;
}

void hf_zk_members_end(struct hf_zk_members *members)
{
    if (members->open) {
        struct hf_zk_members **at = &members->zk->members;
        while (*at != members)
            at = &(*at)->next;
        *at = members->next;
        members->open = false;
    }
    for (size_t i = 0; members->member != NULL && i < members->count; i++)
        hf_dial_close(&members->member[i].dial);
    free(members->member);
    members->member = NULL;
}

/* True: it is over. */
static bool members_over(struct hf_zk *zk, struct hf_zk_members *members, bool readable)
{
    bool over = true;

    for (size_t i = 0; i < members->count; i++) {
        struct hf_zk_member *member = &members->member[i];
        if (!member->over)
            hf_dial_run(&member->dial, readable);
        over = over && member->over;
    }
    return over || zk->remote.now >= members->due;
}

void hf_zk_members_run(struct hf_zk *zk, bool readable)
{
    for (struct hf_zk_members *members = zk->members, *next; members != NULL;
         members = next) {
        next = members->next;
        if (!members_over(zk, members, readable))
            continue;
        hf_zk_members_end(members);
        members->on_end(zk, members->data); /* it may be gone from here on */
    }
}

hf_time hf_zk_members_wake(const struct hf_zk *zk)
{
    hf_time wake = HF_NEVER;

    for (const struct hf_zk_members *members = zk->members; members != NULL;
         members = members->next) {
        wake = hf_sooner(wake, members->due);
        for (size_t i = 0; i < members->count; i++)
            if (!members->member[i].over)
                wake = hf_sooner(wake, hf_dial_wake(&members->member[i].dial));
    }
    return wake;
}
