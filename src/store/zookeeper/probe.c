/* probe.c - a question to the server in use, outside of the session.
 *
 * ZooKeeper has questions of four letters, such as "srvr".  Each needs a connection of its
 * own; it goes to the address that the session's goes to.  The server closes it when it has
 * answered.
 */
#include "store/zookeeper/examine.h"

#include <assert.h>
#include <string.h>

#define LIMIT HF_SEC

void hf_zk_probe_send(struct hf_zk *zk, struct hf_zk_probe *probe, const char *letters,
                      void (*on_answer)(struct hf_zk *zk, void *data), void *data)
{
    struct sockaddr_storage at = { 0 };
    socklen_t               length = sizeof at;
    const char             *host = zk->dial.here.host;

    assert(strlen(letters) == 4 && !probe->open);
    *probe = (struct hf_zk_probe){ .zk = zk, .on_answer = on_answer, .data = data };
    probe->due = zk->remote.now;
    probe->open = true;
    probe->next = zk->probes;
    zk->probes = probe;
    if (getpeername(zk->dial.stream.fd, (struct sockaddr *)&at, &length) < 0)
        length = 0; /* it has just gone: the stream will break */
    hf_stream_open(&probe->stream, (struct sockaddr *)&at, length, zk->tls, host);
    void *room = hf_stream_append(&probe->stream, strlen(letters));
    if (length == 0 || room == NULL)
        return; /* due at once */
    memcpy(room, letters, strlen(letters));
    probe->due = zk->remote.now + LIMIT;
}

void hf_zk_probe_end(struct hf_zk_probe *probe)
{
    if (!probe->open)
        return;
    struct hf_zk_probe **at = &probe->zk->probes;
    while (*at != probe) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = probe->next;
    hf_polled_end(&probe->polled, probe->zk->base.fd);
    hf_stream_close(&probe->stream);
    probe->open = false;
    assert(probe->used < sizeof probe->text);
    probe->text[probe->used] = '\0';
}

/* True: it is over, answered or not. */
static bool probe_run(struct hf_zk *zk, struct hf_zk_probe *probe)
{
    struct hf_stream *stream = &probe->stream;
    long              n = 0;

    if (stream->state < HF_STREAM_OPEN)
        hf_stream_step(stream);
    if (stream->state == HF_STREAM_OPEN) {
        hf_stream_flush(stream);
        do {
            probe->used += (size_t)n;
            n = hf_stream_read(stream, probe->text + probe->used,
                               sizeof probe->text - 1 - probe->used);
        } while (n > 0);
    }
    if (stream->state == HF_STREAM_BROKEN || zk->remote.now >= probe->due ||
        probe->used == sizeof probe->text - 1)
        return true;
    return hf_polled_set(&probe->polled, zk->base.fd, stream->fd,
                         hf_stream_events(stream)) < 0;
}

void hf_zk_probes_run(struct hf_zk *zk)
{
    for (struct hf_zk_probe *probe = zk->probes, *next; probe != NULL; probe = next) {
        next = probe->next;
        if (!probe_run(zk, probe))
            continue;
        hf_zk_probe_end(probe);
        probe->on_answer(zk, probe->data); /* the probe may be gone from here on */
    }
}

hf_time hf_zk_probes_wake(const struct hf_zk *zk)
{
    hf_time wake = HF_NEVER;

    for (const struct hf_zk_probe *probe = zk->probes; probe != NULL; probe = probe->next)
        wake = probe->due < wake ? probe->due : wake;
    return wake;
}
