/* probe.c - a question to one server, on a connection beside the session's.
 *
 *     srvr   one of ZooKeeper's "four letter words", to the address that the session uses.
 *            The server hangs up after the answer
 *     view   what a server of the URL shows of a node, in a session of its own:
 *
 *                connect --greeted--> sync, exists, close --> answered
 *                   |                      |
 *                   +----------------------+--> it is down, hangs up, or stays silent
 *
 *            A server that answers `sync` knows everything that was done before.
 */
#include "store/zookeeper/inspect/diagnose.h"

#include <assert.h>
#include <string.h>

#define STEP_LIMIT HF_SEC /* for each of connecting and greeting */

enum { XID_SYNC = 1, XID_EXISTS, XID_CLOSE };

/* ---- Questions ---------------------------------------------------------------------- */

static void send_messages(struct hf_zk_probe *probe, struct hf_zk_writer *out)
{
    void *room = out->failed ? NULL : hf_stream_append(&probe->dial.stream, out->used);

    if (room != NULL)
        memcpy(room, out->bytes, out->used);
    hf_zk_writer_finish(out);
    if (room == NULL)
        hf_dial_close(&probe->dial);
    else
        hf_dial_flush(&probe->dial);
}

static void greet_server(struct hf_dial *dial)
{
    static const unsigned char no_password[16];
    struct hf_zk_probe        *probe = (struct hf_zk_probe *)dial;
    struct hf_zk_writer        out = { 0 };

    if (probe->path == NULL)
        hf_zk_put_int(&out, 's' << 24 | 'r' << 16 | 'v' << 8 | 'r');
    else
        hf_zk_put_connect((const struct hf_zk *)dial->store, 0, no_password, &out);
    send_messages(probe, &out);
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

static void ask_view(struct hf_zk_probe *probe)
{
    struct hf_zk_writer out = { 0 };

    hf_dial_ready(&probe->dial);
    hf_zk_put_auth((struct hf_zk *)probe->dial.store, &out);
    put_question(&out, XID_SYNC, HF_ZK_SYNC, probe->path);
    put_question(&out, XID_EXISTS, HF_ZK_EXISTS, probe->path);
    put_question(&out, XID_CLOSE, HF_ZK_CLOSE, NULL);
    send_messages(probe, &out);
}

/* ---- Answers ------------------------------------------------------------------------ */

void hf_zk_view_take(struct hf_zk_view *view, int error, struct hf_zk_reader *body)
{
    view->there = error == 0;
    if (view->there)
        hf_zk_get_stat(body, &view->stat);
    view->answered = (view->there && !body->bad) || error == HF_ZK_NO_NODE;
}

/* A server without a quorum may answer EXISTS, but its `sync` fails. */
static void take_message(struct hf_zk_probe *probe, struct hf_zk_reader frame)
{
    int32_t xid = hf_zk_get_int(&frame);

    if (probe->dial.phase == HF_DIAL_GREETING) {
        ask_view(probe);
        return;
    }
    hf_zk_get_long(&frame);
    int32_t error = hf_zk_get_int(&frame);
    if (xid == XID_EXISTS)
        hf_zk_view_take(&probe->view, error, &frame);
    if (xid == XID_CLOSE || (xid == XID_SYNC && error != 0))
        hf_dial_close(&probe->dial);
}

static void take_messages(struct hf_zk_probe *probe)
{
    size_t at = 0;
    long   size;

    while (!probe->finished &&
           (size = hf_zk_frame_size(probe->in + at, probe->used - at)) >= 0) {
        take_message(probe, hf_zk_reader_on(probe->in + at + 4, (size_t)size));
        at += 4 + (size_t)size;
    }
    probe->used -= at;
    memmove(probe->in, probe->in + at, probe->used);
}

static void read_probe(struct hf_dial *dial)
{
    struct hf_zk_probe *probe = (struct hf_zk_probe *)dial;

    while (!probe->finished) {
        size_t room = sizeof probe->in - 1 - probe->used;
        size_t n = room > 0 ? hf_dial_read(dial, probe->in + probe->used, room) : 0;
        if (room == 0)
            hf_dial_close(dial); /* no answer is this long */
        if (n == 0)
            return;
        probe->used += n;
        if (probe->path != NULL)
            take_messages(probe);
    }
}

/* ---- The connection ----------------------------------------------------------------- */

static void find_server(struct hf_dial *dial)
{
    const struct hf_dial *link = &((const struct hf_zk *)dial->store)->dial;

    hf_dial_choose(dial);
    if (((struct hf_zk_probe *)dial)->path != NULL) {
        hf_dial_look_up(dial);
        return;
    }
    dial->here = link->here;
    hf_dial_connect(dial, &link->at);
}

/* Each address of the server is tried once. */
static void probe_finished(struct hf_dial *dial)
{
    ((struct hf_zk_probe *)dial)->finished = dial->next_address >= dial->addresses;
}

static hf_time probe_patience(const struct hf_dial *dial)
{
    (void)dial;
    return STEP_LIMIT;
}

static bool is_quiet(const struct hf_dial *dial)
{
    (void)dial;
    return true;
}

static const struct hf_dial_ops ops = {
    .kind = "ZooKeeper",
    .find = find_server,
    .greet = greet_server,
    .read = read_probe,
    .over = probe_finished,
    .patience = probe_patience,
    .is_quiet = is_quiet,
};

/* ---- Begin and end ------------------------------------------------------------------ */

void hf_zk_probe_send(struct hf_zk *zk, struct hf_zk_probe *probe, size_t server,
                      const char *path, void (*on_answer)(struct hf_zk *zk, void *data),
                      void       *data)
{
    assert(!probe->open && server < zk->config.servers);
    *probe = (struct hf_zk_probe){ .dial = { .ops = &ops,
                                             .store = &zk->base,
                                             .now = &zk->remote.now,
                                             .list = zk->config.server,
                                             .servers = zk->config.servers,
                                             .next = server,
                                             .tls = zk->tls },
                                   .next = zk->probes,
                                   .open = true,
                                   .path = path,
                                   .due = zk->remote.now + 2 * STEP_LIMIT,
                                   .on_answer = on_answer,
                                   .data = data };
    hf_dial_init(&probe->dial, 0);
    zk->probes = probe;
    zk->base.wake = 0;
}

void hf_zk_probe_end(struct hf_zk_probe *probe)
{
    if (!probe->open)
        return;
    struct hf_zk_probe **at = &((struct hf_zk *)probe->dial.store)->probes;
    while (*at != probe) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = probe->next;
    probe->open = false;
    hf_dial_close(&probe->dial);
    assert(probe->used < sizeof probe->in); /* room for the NUL */
    probe->in[probe->used] = '\0';
}

static struct hf_zk_probe *find_finished(const struct hf_zk *zk)
{
    struct hf_zk_probe *probe = zk->probes;

    while (probe != NULL && !probe->finished && zk->remote.now < probe->due)
        probe = probe->next;
    return probe;
}

/* on_answer() may end other probes. */
void hf_zk_probes_run(struct hf_zk *zk, bool readable)
{
    struct hf_zk_probe *finished;

    for (struct hf_zk_probe *probe = zk->probes; probe != NULL; probe = probe->next)
        hf_dial_run(&probe->dial, readable);
    while ((finished = find_finished(zk)) != NULL) {
        hf_zk_probe_end(finished);
        finished->on_answer(zk, finished->data);
    }
}

hf_time hf_zk_probes_wake(const struct hf_zk *zk)
{
    hf_time wake = HF_NEVER;

    for (const struct hf_zk_probe *probe = zk->probes; probe != NULL; probe = probe->next)
        wake = hf_sooner(wake, hf_sooner(probe->due, hf_dial_wake(&probe->dial)));
    return wake;
}
