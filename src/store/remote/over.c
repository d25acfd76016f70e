/* over.c - how a connection ends, what is said about it, and which server is next. */
#include "store/remote/dial.h"

#include <assert.h>
#include <stdio.h>

#define REFUSED_FOR HF_SEC

/* ---- Messages ----------------------------------------------------------------- */

static bool is_quiet(const struct hf_dial *dial)
{
    return dial->ops->is_quiet != NULL && dial->ops->is_quiet(dial);
}

const char *hf_dial_show(const struct hf_dial *dial, char *ret, size_t size)
{
    return dial->ops->show != NULL ? dial->ops->show(dial, ret, size)
                                   : hf_server_show(&dial->here, ret, size);
}

void hf_dial_say(struct hf_dial *dial, const char *why)
{
    char server[160];

    if (!is_quiet(dial))
        snprintf(dial->store->errmsg, sizeof dial->store->errmsg, "%s at %s %s",
                 dial->ops->kind, hf_dial_show(dial, server, sizeof server), why);
}

static void set_link(struct hf_dial *dial, enum hf_link link)
{
    if (dial->ops->is_link)
        hf_store_set_link(dial->store, link);
}

/* ---- The next server------------------------------------------------------------- */

struct ending {
    int  refusal; /* fail all requests with this; 0: try again soon */
    bool absent;  /* the server is not there */
    bool hangs;
    int  denial; /* it rejects us */
};

static void count_try(struct hf_dial *dial, bool absent, bool last)
{
    if (!is_quiet(dial))
        hf_store_tried(dial->store, absent, last && !dial->beside);
}

/* Pauses grow, but stay short while a session is running out. */
static hf_time next_pause(struct hf_dial *dial)
{
    hf_time pause = hf_retry_next(&dial->retry);
    hf_time most = dial->ops->pause_most != NULL ? dial->ops->pause_most(dial) : HF_NEVER;

    return pause < most ? pause : most;
}

static bool is_last(const struct hf_dial *dial)
{
    return dial->tried + 1 >= dial->servers;
}

/* The server in use is also the next one to try. */
static void stay(struct hf_dial *dial)
{
    assert(dial->ops->loyal);
    dial->next = (dial->next + dial->servers - 1) % dial->servers;
    dial->stays = true;
}

/* Fail every request with this, instead of letting it wait. */
static void begin_refusal(struct hf_dial *dial, int status)
{
    assert(dial->ops->is_link && status < 0);
    dial->refusal = status;
    dial->denial = 0;
    dial->store->refusal = dial->refusal;
    dial->tried = 0;
    dial->addresses = 0;
    dial->detour = false;
    dial->due = *dial->now + REFUSED_FOR;
    set_link(dial, HF_LINK_UP);
}

static void refuse(struct hf_dial *dial, int status)
{
    count_try(dial, false, true);
    if (dial->ops->loyal)
        stay(dial);
    begin_refusal(dial, status);
}

/* Another server of the round may accept us. */
static void note_denial(struct hf_dial *dial, int status)
{
    if (!dial->ops->is_link)
        return;
    dial->denial = status;
    snprintf(dial->denied, sizeof dial->denied, "%s", dial->store->errmsg);
}

/* No server accepted us, and one of them rejected us: report that one. */
static void refuse_denied(struct hf_dial *dial)
{
    snprintf(dial->store->errmsg, sizeof dial->store->errmsg, "%s", dial->denied);
    begin_refusal(dial, dial->denial);
}

/* Try the next address or server at once.  After all of them comes a pause, or a
 * refusal. */
static void plan_next_try(struct hf_dial *dial, enum hf_dial_phase from,
                          const struct ending *ending)
{
    bool more = dial->next_address < dial->addresses && !dial->detour;

    assert(dial->phase == HF_DIAL_RESTING && from != HF_DIAL_RESTING);
    assert(!more || from < HF_DIAL_READY);
    dial->due = *dial->now;
    if (from == HF_DIAL_READY && dial->ops->loyal && !ending->hangs) {
        assert(dial->tried == 0 && dial->denial == 0);
        stay(dial);
    } else {
        count_try(dial, ending->absent, is_last(dial) && !dial->detour && !more);
        if (more)
            return;
        dial->addresses = 0;
        if (dial->detour || ++dial->tried < dial->servers)
            return;
        if (dial->denial != 0) {
            refuse_denied(dial);
            return;
        }
        dial->tried = 0;
        dial->rounds++;
    }
    dial->due += next_pause(dial);
}

/* ---- The end ------------------------------------------------------------------ */

static void rest(struct hf_dial *dial)
{
    bool streaming = dial->phase >= HF_DIAL_CONNECTING && dial->ops->connect == NULL;

    assert(dial->refusal == 0);
    hf_dial_end_look_up(dial);
    hf_polled_end(&dial->polled, dial->store->fd);
    if (streaming)
        hf_stream_close(&dial->stream);
    dial->phase = HF_DIAL_RESTING;
    dial->more = dial->stays = false;
}

static void end_connection(struct hf_dial *dial, const char *why, struct ending ending)
{
    enum hf_dial_phase from = dial->phase;

    if (from == HF_DIAL_RESTING)
        return;
    if (why != NULL)
        hf_dial_say(dial, why);
    rest(dial);
    if (ending.denial != 0)
        note_denial(dial, ending.denial);
    if (ending.refusal != 0)
        refuse(dial, ending.refusal);
    else
        plan_next_try(dial, from, &ending);
    if (dial->refusal == 0)
        set_link(dial, HF_LINK_DOWN);
    dial->ops->over(dial);
}

void hf_dial_break(struct hf_dial *dial, const char *why)
{
    end_connection(dial, why, (struct ending){ 0 });
}

void hf_dial_absent(struct hf_dial *dial, const char *why)
{
    end_connection(dial, why, (struct ending){ .absent = true });
}

void hf_dial_hung(struct hf_dial *dial, const char *why)
{
    end_connection(dial, why, (struct ending){ .hangs = true });
}

void hf_dial_deny(struct hf_dial *dial, int status, const char *why)
{
    assert(status < 0);
    end_connection(dial, why, (struct ending){ .denial = status });
}

void hf_dial_refuse(struct hf_dial *dial, int status, const char *why)
{
    end_connection(dial, why, (struct ending){ .refusal = status });
}

void hf_dial_close(struct hf_dial *dial)
{
    bool any = dial->phase != HF_DIAL_RESTING;

    if (any)
        rest(dial);
    dial->addresses = 0;
    if (dial->refusal == 0)
        dial->due = *dial->now;
    if (any)
        dial->ops->over(dial);
}
