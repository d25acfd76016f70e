/* stream.c - a connection that is a stream, plain or by TLS. */
#include "store/remote/dial.h"

#include <assert.h>
#include <stdio.h>

/* On a dial beside the link, a server that never sent a byte counts as absent. */
static bool is_unreached(const struct hf_dial *dial)
{
    return dial->phase == HF_DIAL_CONNECTING || (!dial->ops->is_link && dial->heard == 0);
}

/* If the URL may have the wrong one of two schemes, suggest the other.  If there may be
 * other reasons why the server hangs up, put both as questions. */
static void explain_stream(const struct hf_dial *dial, char *ret, size_t size)
{
    const struct hf_dial_ops *ops = dial->ops;
    const char               *what = dial->stream.errmsg;
    bool doubtful = dial->phase == HF_DIAL_GREETING && ops->doubt != NULL;
    bool speechless = dial->heard == 0 && dial->tls == NULL && dial->here.port[0] != '\0';
    char hint[80] = "";

    if (speechless && ops->secure != NULL)
        snprintf(hint, sizeof hint,
                 doubtful ? " or does it speak TLS? then write %s"
                          : " (if it speaks TLS, write %s)",
                 ops->secure);
    if (is_unreached(dial))
        snprintf(ret, size, "cannot be reached: %.180s", what);
    else if (doubtful)
        snprintf(ret, size, "does not accept us (%s%s): %.150s", ops->doubt, hint, what);
    else
        snprintf(ret, size, "hung up: %.150s%s", what, hint);
}

static void give_up_stream(struct hf_dial *dial)
{
    char why[HF_ERRMSG_MAX];

    assert(dial->phase >= HF_DIAL_CONNECTING && dial->stream.state == HF_STREAM_BROKEN);
    explain_stream(dial, why, sizeof why);
    if (dial->stream.denied)
        hf_dial_deny(dial, HF_EDENIED, why);
    else if (is_unreached(dial))
        hf_dial_absent(dial, why);
    else
        hf_dial_break(dial, why);
}

static void poll_stream(struct hf_dial *dial)
{
    struct hf_stream *stream = &dial->stream;

    if (hf_polled_set(&dial->polled, dial->store->fd, stream->fd,
                      hf_stream_events(stream)) < 0)
        hf_dial_break(dial, "cannot be watched: out of memory");
}

void hf_dial_stream_open(struct hf_dial *dial, const struct hf_address *address)
{
    assert(dial->phase == HF_DIAL_CONNECTING && dial->ops->connect == NULL);
    hf_stream_open(&dial->stream, (const struct sockaddr *)&address->at, address->length,
                   dial->tls, dial->here.host);
    hf_dial_stream_step(dial); /* it may be broken, or open, already */
}

void hf_dial_stream_step(struct hf_dial *dial)
{
    assert(dial->phase == HF_DIAL_CONNECTING && dial->ops->connect == NULL);
    hf_stream_step(&dial->stream);
    if (dial->stream.state == HF_STREAM_BROKEN)
        give_up_stream(dial);
    else if (dial->stream.state == HF_STREAM_OPEN)
        hf_dial_greet(dial);
    else
        poll_stream(dial);
}

size_t hf_dial_read(struct hf_dial *dial, void *ret, size_t size)
{
    assert(dial->phase >= HF_DIAL_GREETING && size > 0);
    long n = hf_stream_read(&dial->stream, ret, size);
    if (n < 0)
        give_up_stream(dial);
    if (n > 0)
        dial->heard = hf_now();
    return n > 0 ? (size_t)n : 0;
}

void hf_dial_flush(struct hf_dial *dial)
{
    if (dial->phase < HF_DIAL_GREETING)
        return;
    hf_stream_flush(&dial->stream);
    if (dial->stream.state == HF_STREAM_BROKEN)
        give_up_stream(dial);
    else
        poll_stream(dial);
}
