/* link.c - the session of a memory store, and its lease.
 *
 * Happy path: HELLO opens a session, a RENEW a third of the ttl later keeps it,
 * and so on.  Each answer moves alive_until, counted from the sending.
 *
 * Failures: no answer for another third, or a broken wire: the link is down and
 * HELLO is sent again, with pauses, for the same session.  The world does not
 * know the session any more: the link is lost, and HELLO asks for a new one.
 *
 * Who executes a will sends END for that session, until it is answered.
 */
#include "store/memory/client.h"

#include "core/lease.h"
#include "holdfast.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Without a lease only a broken wire can end a connection. */
static hf_time silence_limit(const struct hf_memory *memory)
{
    return memory->ttl > 0 ? memory->ttl / 3 : HF_NEVER;
}

static hf_time later(hf_time now, hf_time delay)
{
    return delay == HF_NEVER ? HF_NEVER : now + delay;
}

static void set_link(struct hf_memory *memory, enum hf_link link, const char *why)
{
    if (memory->base.link != link)
        snprintf(memory->base.errmsg, sizeof memory->base.errmsg, "%s", why);
    hf_store_set_link(&memory->base, link);
}

static void beat(struct hf_memory *memory, enum hf_call_kind kind, hf_time now)
{
    assert(memory->beat == 0); /* one at a time: its answer moves the deadline */
    memory->beat = hf_memory_serial(memory, HF_MEMORY_BEAT);
    memory->sent = now;
    memory->due = later(now, silence_limit(memory));
    memory->wire->send(memory->wire,
                       &(struct hf_call){ .kind = kind,
                                          .session = memory->session,
                                          .connection = memory->connection,
                                          .serial = memory->beat,
                                          .ttl = memory->ttl,
                                          .owner = memory->wire },
                       now);
}

static void connect(struct hf_memory *memory, hf_time now)
{
    assert(memory->base.link != HF_LINK_UP);
    memory->connection++;
    memory->wire->broken = false;
    beat(memory, memory->executes ? HF_CALL_END : HF_CALL_HELLO, now);
}

/* The wire is dead, or does not answer: what is in flight fails, and may or may
 * not have been carried out. */
static void cut(struct hf_memory *memory, hf_time now)
{
    memory->beat = 0;
    memory->wire->broken = true;
    memory->due = now + hf_retry_next(&memory->retry);
    set_link(memory, HF_LINK_DOWN, "the connection to the memory store broke");
    hf_memory_fail(memory, false);
}

/* Our tickets are gone with the session: nothing asked for makes sense now. */
void hf_memory_lose(struct hf_memory *memory, hf_time now)
{
    memory->beat = 0;
    memory->session = 0;
    if (memory->ttl > 0)
        memory->base.alive_until = 0;
    set_link(memory, HF_LINK_LOST, "the session in the memory store was ended");
    hf_memory_fail(memory, true);
    if (memory->executes)
        memory->due = HF_NEVER; /* that is what the store was opened for */
    else
        connect(memory, now);
}

void hf_memory_link_run(struct hf_memory *memory, hf_time now)
{
    bool silent = memory->beat != 0 && now >= memory->due;

    if (memory->beat != 0 || memory->base.link == HF_LINK_UP)
        if (silent || memory->wire->broken)
            cut(memory, now);
    if (memory->beat != 0 || now < memory->due)
        return;
    if (memory->base.link == HF_LINK_UP)
        beat(memory, HF_CALL_RENEW, now);
    else
        connect(memory, now);
}

void hf_memory_extend(struct hf_memory *memory, hf_time sent)
{
    assert(memory->ttl > 0);
    hf_time until = hf_lease_deadline(sent, memory->ttl, 0);

    /* Each one proven, so the latest holds. */
    if (until > memory->base.alive_until)
        memory->base.alive_until = until;
}

static void confirmed(struct hf_memory *memory, const struct hf_answer *answer)
{
    hf_time sent = memory->sent;

    assert(answer->status == 0 && answer->serial == memory->beat);
    memory->beat = 0;
    memory->due = later(sent, silence_limit(memory));
    if (memory->ttl > 0)
        hf_memory_extend(memory, sent);
    if (memory->base.link == HF_LINK_UP)
        return;
    assert(answer->session != 0);
    memory->session = answer->session;
    hf_retry_reset(&memory->retry);
    set_link(memory, HF_LINK_UP, "");
}

bool hf_memory_link_take(struct hf_memory *memory, const struct hf_answer *answer,
                         hf_time now)
{
    bool ours = memory->beat != 0 && answer->serial == memory->beat;

    if (answer->serial == 0) {
        assert(answer->gone && memory->session != 0);
        hf_memory_lose(memory, now);
        return true;
    }
    if (ours && answer->status == HF_ENOMEM)
        cut(memory, now);
    else if (ours && answer->gone)
        hf_memory_lose(memory, now);
    else if (ours)
        confirmed(memory, answer);
    return ours;
}

/* ---- Both ends of its life ----------------------------------------------------- */

static const struct hf_store_impl on_wire = {
    .scheme = "memory",
    .surveys = true,
    .close = hf_memory_close,
    .submit = hf_memory_submit,
    .cancel = hf_memory_cancel,
    .process = hf_memory_process,
    .will = hf_memory_will,
};

int hf_memory_open(struct hf_wire *wire, hf_time ttl, uint64_t seed,
                   struct hf_store **ret)
{
    struct hf_memory *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return HF_ENOMEM;

    assert(ttl >= 0);
    memory->wire = wire;
    memory->ttl = ttl;
    memory->base.impl = &on_wire;
    memory->base.fd = wire->fd;
    memory->base.link = HF_LINK_DOWN;
    memory->base.alive_until = ttl > 0 ? 0 : HF_NEVER;
    hf_retry_init(&memory->retry, ttl > 0 ? ttl / 30 + 1 : HF_MS,
                  ttl > 0 ? ttl / 6 + 1 : HF_SEC, seed);
    *ret = &memory->base;
    return 0;
}

void hf_memory_close(struct hf_store *store)
{
    struct hf_memory *memory = (struct hf_memory *)store;

    assert(store->link != HF_LINK_UP || (memory->session != 0 && !memory->executes));
    if (store->link == HF_LINK_UP)
        memory->wire->send(memory->wire,
                           &(struct hf_call){ .kind = HF_CALL_BYE,
                                              .session = memory->session,
                                              .connection = memory->connection },
                           0);
    memory->wire->close(memory->wire);
    free(memory->flight);
    free(memory);
}
