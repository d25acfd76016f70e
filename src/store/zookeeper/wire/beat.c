/* beat.c - keeps the session alive, and knows until when it surely is.
 *
 * While we have a place anywhere, a heartbeat is sent every T/8 and a little: a MULTI
 * that checks that our places exist and changes nothing, which a quorum has to accept.
 * It renews the deadline (core/lease.h has the rule, and says why so often) and finds
 * places that somebody deleted.  Any other committed write renews it as well.  Without a
 * place to lose, plain pings every T/6 are enough: they keep the deadline of the next
 * acquire far away.
 *
 * A connection with an answer outstanding is given up after T/3 of silence: another
 * server may be better.  If not even the server's machine acknowledges our bytes, it is
 * given up after T/6.  And while we have a place, it is given up as soon as a new
 * connection is the quickest way to a new deadline.
 *
 * Servers before 3.8.1 may forget a write until the next request comes
 * (ZOOKEEPER-4537).  So after 200 ms without an answer another request is sent.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define KICK (200 * HF_MS)

static hf_time clock_guard(hf_time timeout)
{
    hf_time part = timeout / 40;

    return part < 50 * HF_MS ? part : 50 * HF_MS;
}

/* Unacknowledged bytes break the connection after T/6. */
static void limit_silence(const struct hf_zk *zk)
{
    unsigned ms = (unsigned)(zk->link.timeout / HF_MS / 6);

    setsockopt(zk->dial.stream.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

void hf_zk_beat_greeted(struct hf_zk *zk, hf_time timeout, hf_time answered)
{
    struct hf_zk_beat *beat = &zk->beat;

    hf_lease_quorum_connected(&beat->lease, zk->link.greeted, answered, timeout);
    zk->base.lease = zk->link.timeout = beat->lease.timeout;
    zk->base.alive_until = beat->lease.deadline;
}

void hf_zk_beat_start(struct hf_zk *zk, hf_time timeout, hf_time answered, bool fresh)
{
    struct hf_zk_beat *beat = &zk->beat;

    assert(zk->link.session != 0 && !beat->call.flying && !beat->kick.flying);
    if (fresh)
        hf_lease_quorum_init(&beat->lease, timeout, clock_guard(timeout));
    hf_zk_beat_greeted(zk, timeout, answered);
    beat->wrote = beat->tried = 0; /* due at once: nothing is committed yet */
    beat->spoke = zk->remote.now;
    beat->began = beat->heard = answered;
    beat->pinged = 0;
    beat->kicked = 0;
    limit_silence(zk);
}

void hf_zk_beat_heard(struct hf_zk *zk, hf_time sent, hf_time answered, bool committed)
{
    struct hf_zk_beat *beat = &zk->beat;

    beat->heard = answered;
    hf_dial_proven(&zk->dial); /* a greeting alone does not prove that it works */
    if (committed && sent > beat->wrote)
        beat->wrote = sent;
    hf_lease_quorum_answered(&beat->lease, sent, answered, committed);
    zk->base.alive_until = beat->lease.deadline;
}

void hf_zk_beat_pong(struct hf_zk *zk, hf_time answered)
{
    hf_time sent = zk->beat.pinged;

    zk->beat.pinged = 0;
    if (sent != 0)
        hf_zk_beat_heard(zk, sent, answered, false);
}

/* ---- Heartbeats --------------------------------------------------------------------- */

static void on_beat(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_beat *beat = data;

    if (reply->error != HF_ZK_NO_NODE)
        return; /* committed, or another problem */
    for (size_t i = 0; i < beat->checks; i++) {
        struct hf_zk_own *own = hf_zk_own_find(zk, beat->checked[i]);
        if (hf_zk_multi_error(reply, i) != HF_ZK_NO_NODE || own == NULL)
            continue;
        if (own->where == HF_ZK_THERE) {
            hf_zk_own_taken(zk, own);
            beat->wrote = beat->tried =
                0; /* nothing was committed: send it again, without that place */
        }
    }
}

/* Check the next places, in turn. */
static void choose_checked(struct hf_zk *zk)
{
    struct hf_zk_beat *beat = &zk->beat;

    beat->checks = 0;
    for (size_t i = 0; i < HF_ZK_BUCKETS && beat->checks < HF_ZK_BEAT_CHECKS; i++) {
        size_t at = (beat->after + 1 + i) % HF_ZK_BUCKETS;
        for (struct hf_zk_own *own = zk->own[at]; own != NULL; own = own->next)
            if (own->where == HF_ZK_THERE && beat->checks < HF_ZK_BEAT_CHECKS)
                beat->checked[beat->checks++] = own->id;
    }
    assert(beat->checks <= HF_ZK_BEAT_CHECKS && beat->checks <= zk->own_count);
    if (beat->checks > 0)
        beat->after = beat->checked[beat->checks - 1];
}

static void send_beat(struct hf_zk *zk)
{
    struct hf_zk_beat *beat = &zk->beat;

    beat->tried = zk->remote.now;
    choose_checked(zk);
    if (beat->checks == 0)
        return;
    hf_zk_multi_begin(zk, &beat->call, on_beat, beat);
    for (size_t i = 0; i < beat->checks; i++)
        hf_zk_multi_check(zk, hf_zk_own_find(zk, beat->checked[i])->path);
    hf_zk_multi_end(zk);
}

static void send_ping(struct hf_zk *zk)
{
    struct hf_zk_writer *out = &zk->calls.out;
    size_t               begin = hf_zk_frame_begin(out);

    assert(zk->beat.pinged == 0); /* one in flight at most */
    hf_zk_put_int(out, HF_ZK_XID_PING);
    hf_zk_put_int(out, HF_ZK_PING);
    hf_zk_frame_end(out, begin);
    zk->beat.pinged = zk->remote.now;
}

/* ---- Time --------------------------------------------------------------------------- */

static hf_time beat_due(const struct hf_zk *zk)
{
    const struct hf_zk_beat *beat = &zk->beat;

    if (zk->own_count == 0 || beat->call.flying || zk->dial.phase != HF_DIAL_READY)
        return HF_NEVER;
    return hf_lease_quorum_write_at(&beat->lease, beat->wrote > beat->tried
                                                      ? beat->wrote
                                                      : beat->tried);
}

static hf_time ping_due(const struct hf_zk *zk)
{
    return zk->beat.pinged != 0 ? HF_NEVER : zk->beat.spoke + zk->link.timeout / 6;
}

static hf_time kick_due(const struct hf_zk *zk)
{
    const struct hf_zk_call *first = zk->calls.first;

    if (first == NULL || zk->beat.kick.flying)
        return HF_NEVER;
    return (first->sent > zk->beat.kicked ? first->sent : zk->beat.kicked) + KICK;
}

/* When to give the connection up. */
static hf_time dead_due(const struct hf_zk *zk)
{
    const struct hf_zk_beat *beat = &zk->beat;
    hf_time                  since = HF_NEVER;

    if (zk->calls.first != NULL)
        since = zk->calls.first->sent;
    if (beat->pinged != 0 && beat->pinged < since)
        since = beat->pinged;
    if (since == HF_NEVER)
        return HF_NEVER;
    return (since > beat->heard ? since : beat->heard) + zk->link.timeout / 3;
}

/* When to reconnect for the sake of the deadline.  A connection on which nothing was
 * committed yet has some time left to do so. */
static hf_time renew_due(const struct hf_zk *zk)
{
    const struct hf_zk_beat *beat = &zk->beat;

    if (zk->own_count == 0)
        return HF_NEVER;
    hf_time at = hf_lease_quorum_connect_at(&beat->lease, zk->calls.first != NULL);
    hf_time least = beat->wrote == 0 ? beat->began + zk->link.timeout / 4 : 0;
    return at > least ? at : least;
}

void hf_zk_beat_run(struct hf_zk *zk)
{
    if (!hf_zk_link_is_greeted(zk))
        return;
    if (zk->remote.now >= dead_due(zk)) {
        hf_dial_break(&zk->dial, "does not answer any more");
        return;
    }
    if (zk->remote.now >= renew_due(zk)) {
        hf_dial_break(&zk->dial, "answers too slowly");
        return;
    }
    if (zk->remote.now >= beat_due(zk))
        send_beat(zk);
    if (zk->remote.now >= ping_due(zk))
        send_ping(zk);
    if (zk->remote.now >= kick_due(zk)) {
        zk->beat.kicked = zk->remote.now;
        hf_zk_call_get(zk, &zk->beat.kick, HF_ZK_EXISTS, hf_zk_root(zk), hf_zk_ignore,
                       NULL);
    }
}

hf_time hf_zk_beat_wake(const struct hf_zk *zk)
{
    if (!hf_zk_link_is_greeted(zk))
        return HF_NEVER;
    hf_time send = hf_sooner(hf_sooner(beat_due(zk), ping_due(zk)), kick_due(zk));
    return hf_sooner(send, hf_sooner(renew_due(zk), dead_due(zk)));
}
