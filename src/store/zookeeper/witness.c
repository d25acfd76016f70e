/* witness.c - what each server of the URL shows of one node, asked in sessions of their own.
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

struct hf_zk_witness {
    struct hf_dial        dial; /* first */
    struct hf_zk_inquest *inquest;
    bool                  over;
    bool                  asked;
    unsigned char         in[HF_ZK_PATH_MAX + 1024];
    size_t                used;
};

/* ---- One of them ---------------------------------------------------------------------- */

static void send_messages(struct hf_zk_witness *witness, struct hf_zk_writer *out)
{
    void *room = out->failed ? NULL : hf_stream_append(&witness->dial.stream, out->used);

    if (room != NULL)
        memcpy(room, out->bytes, out->used);
    hf_zk_writer_finish(out);
    if (room == NULL)
        hf_dial_close(&witness->dial);
    else
        hf_dial_flush(&witness->dial);
}

static void greet_witness(struct hf_dial *dial)
{
    static const unsigned char no_password[16];
    struct hf_zk_writer        out = { 0 };

    hf_zk_put_connect((const struct hf_zk *)dial->store, 0, no_password, &out);
    send_messages((struct hf_zk_witness *)dial, &out);
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

static void ask_witness(struct hf_zk_witness *witness)
{
    struct hf_zk_writer out = { 0 };
    const char         *path = witness->inquest->path;

    witness->asked = true;
    hf_zk_put_auth((const struct hf_zk *)witness->dial.store, &out);
    put_question(&out, XID_SYNC, HF_ZK_SYNC, path);
    put_question(&out, XID_EXISTS, HF_ZK_EXISTS, path);
    put_question(&out, XID_CLOSE, HF_ZK_CLOSE, NULL);
    send_messages(witness, &out);
}

void hf_zk_view_take(struct hf_zk_view *view, int error, struct hf_zk_reader *body)
{
    view->there = error == 0;
    if (view->there)
        hf_zk_get_stat(body, &view->stat);
    view->answered = (view->there && !body->bad) || error == HF_ZK_NO_NODE;
}

/* A server without a quorum may say what it has, but not that it is up to date. */
static void take_statement(struct hf_zk_witness *witness, struct hf_zk_reader frame)
{
    int32_t xid = hf_zk_get_int(&frame);

    hf_zk_get_long(&frame);
    int32_t error = hf_zk_get_int(&frame);
    if (xid == XID_EXISTS)
        hf_zk_view_take(&witness->inquest->view[witness->dial.server], error, &frame);
    if (xid == XID_CLOSE || (xid == XID_SYNC && error != 0))
        hf_dial_close(&witness->dial);
}

/* Returns how many bytes were whole messages. */
static size_t take_messages(struct hf_zk_witness *witness)
{
    size_t at = 0;
    long   size;

    while (!witness->over &&
           (size = hf_zk_frame_size(witness->in + at, witness->used - at)) >= 0) {
        struct hf_zk_reader frame = hf_zk_reader_on(witness->in + at + 4, (size_t)size);
        at += 4 + (size_t)size;
        if (witness->asked)
            take_statement(witness, frame);
        else
            ask_witness(witness);
    }
    return at;
}

static void read_witness(struct hf_dial *dial)
{
    struct hf_zk_witness *witness = (struct hf_zk_witness *)dial;

    while (!witness->over) {
        size_t room = sizeof witness->in - witness->used;
        size_t n = room > 0 ? hf_dial_read(dial, witness->in + witness->used, room) : 0;
        if (room == 0)
            hf_dial_close(dial); /* no answer to us is so long */
        if (n == 0)
            return;
        witness->used += n;
        size_t taken = take_messages(witness);
        witness->used -= taken;
        memmove(witness->in, witness->in + taken, witness->used);
    }
}

/* No server is tried twice; but each of its addresses. */
static void witness_over(struct hf_dial *dial)
{
    ((struct hf_zk_witness *)dial)->over = dial->next_address >= dial->addresses;
}

static hf_time witness_patience(const struct hf_dial *dial)
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
    .greet = greet_witness,
    .read = read_witness,
    .over = witness_over,
    .patience = witness_patience,
    .is_quiet = is_quiet,
};

/* ---- All of them ---------------------------------------------------------------------- */

bool hf_zk_inquest_begin(struct hf_zk *zk, struct hf_zk_inquest *inquest,
                         const char *path, void (*on_end)(struct hf_zk *zk, void *data),
                         void       *data)
{
    size_t count = zk->config.servers;

    assert(!inquest->open && inquest->witness == NULL);
    inquest->witness = calloc(count, sizeof *inquest->witness);
    if (inquest->witness == NULL)
        return false;
    inquest->open = true;
    inquest->zk = zk;
    inquest->path = path;
    inquest->count = count;
    inquest->due = zk->remote.now + 2 * LIMIT;
    inquest->on_end = on_end;
    inquest->data = data;
    for (size_t i = 0; i < count; i++) {
        struct hf_zk_witness *witness = &inquest->witness[i];
        witness->inquest = inquest;
        witness->dial = (struct hf_dial){ .ops = &ops,
                                          .store = &zk->base,
                                          .now = &zk->remote.now,
                                          .list = zk->config.server,
                                          .servers = count,
                                          .next = i,
                                          .tls = zk->tls };
        hf_dial_init(&witness->dial, 0);
    }
    inquest->next = zk->inquests;
    zk->inquests = inquest;
    zk->base.wake = 0;
    return true;
}

void hf_zk_inquest_end(struct hf_zk_inquest *inquest)
{
    if (inquest->open) {
        struct hf_zk_inquest **at = &inquest->zk->inquests;
        while (*at != inquest)
            at = &(*at)->next;
        *at = inquest->next;
        inquest->open = false;
    }
    for (size_t i = 0; inquest->witness != NULL && i < inquest->count; i++)
        hf_dial_close(&inquest->witness[i].dial);
    free(inquest->witness);
    inquest->witness = NULL;
}

/* True: it is over. */
static bool inquest_run(struct hf_zk *zk, struct hf_zk_inquest *inquest, bool readable)
{
    bool over = true;

    for (size_t i = 0; i < inquest->count; i++) {
        struct hf_zk_witness *witness = &inquest->witness[i];
        if (!witness->over)
            hf_dial_run(&witness->dial, readable);
        over = over && witness->over;
    }
    return over || zk->remote.now >= inquest->due;
}

void hf_zk_inquests_run(struct hf_zk *zk, bool readable)
{
    for (struct hf_zk_inquest *inquest = zk->inquests, *next; inquest != NULL;
         inquest = next) {
        next = inquest->next;
        if (!inquest_run(zk, inquest, readable))
            continue;
        hf_zk_inquest_end(inquest);
        inquest->on_end(zk, inquest->data); /* it may be gone from here on */
    }
}

hf_time hf_zk_inquests_wake(const struct hf_zk *zk)
{
    hf_time wake = HF_NEVER;

    for (const struct hf_zk_inquest *inquest = zk->inquests; inquest != NULL;
         inquest = inquest->next) {
        wake = hf_sooner(wake, inquest->due);
        for (size_t i = 0; i < inquest->count; i++)
            if (!inquest->witness[i].over)
                wake = hf_sooner(wake, hf_dial_wake(&inquest->witness[i].dial));
    }
    return wake;
}
