/* reclaim.c - after the server lost data: send it our places, with their tokens.
 *
 * Places that we have left meanwhile are not sent.  If the server still has them, it
 * deletes them.  Of a place whose ENTER was never answered we know only the id: the
 * server keeps it, if it has it and it fits.  If a message has granted it already, that grant may be
 * lost with the place, so it is forgotten.
 *
 * A place that somebody broke is not sent either, if the message that says so has arrived:
 * all messages are read first, also those that arrived before the connection broke.  If
 * it is lost, two clients may send a place of the same lock.  The server takes no more than
 * fits, so the one that comes later is told that it has lost the place.
 *
 * There may be very many places, and a script blocks the server while it runs.  So they
 * are sent in pieces, ordered by the text of their ids, which is the server's order.
 * No verb is sent meanwhile, so no place comes or goes.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 200

static void put_down(struct hf_redis *redis);

/* ---- Which, and in which order ------------------------------------------------ */

static int by_text(const void *a, const void *b)
{
    char   x[HF_REDIS_DIGITS], y[HF_REDIS_DIGITS];
    size_t n = hf_redis_digits(*(const uint64_t *)a, 0, x);
    size_t m = hf_redis_digits(*(const uint64_t *)b, 0, y);
    int    r = memcmp(x, y, n < m ? n : m);

    return r != 0 ? r : (n > m) - (n < m);
}

static bool gather(struct hf_redis_reclaiming *reclaiming, const struct hf_served *served)
{
    reclaiming->id = malloc((served->places + 1) * sizeof *reclaiming->id);
    if (reclaiming->id == NULL)
        return false;
    for (size_t i = 0; i < served->buckets; i++)
        for (const struct hf_served_place *at = served->place[i]; at != NULL;
             at = at->next)
            reclaiming->id[reclaiming->count++] = served->first_id + at->id;
    assert(reclaiming->count == served->places);
    qsort(reclaiming->id, reclaiming->count, sizeof *reclaiming->id, by_text);
    return true;
}

/* A place that may have been taken from us is not reclaimed: somebody else may hold it.
 */
static bool is_ours(const struct hf_served_place *place)
{
    return place != NULL && !place->leaving && !place->away && !place->doubted;
}

static bool is_claim(const struct hf_served_place *place)
{
    return is_ours(place) && place->shape.claim && place->granted;
}

/* ---- One piece ---------------------------------------------------------------- */

/* A token is the time when its place was made.  A waiter has waited since then. */
static void add_place(struct hf_redis *redis, const struct hf_served_place *place)
{
    uint64_t since = place->granted ? (uint64_t)place->since : place->seq;
    char     slot[16], secret[HF_SERVED_GRANT_SECRET];

    assert(is_ours(place));
    hf_served_grant_secret(place, secret);
    snprintf(slot, sizeof slot, "%d", place->slot);
    hf_redis_add_number(&redis->served, redis->served.first_id + place->id);
    hf_redis_add(&redis->served, place->granted ? "g" : "w");
    hf_redis_add_seq(&redis->served, place->seq);
    hf_redis_add_number(&redis->served, place->shape.weight);
    hf_redis_add(&redis->served, slot);
    hf_redis_add_number(&redis->served, since);
    hf_redis_add_kind(&redis->served, &place->shape);
    hf_redis_add(&redis->served, place->name);
    hf_redis_add(&redis->served, place->note);
    hf_redis_add(&redis->served, secret);
}

static void on_reclaimed(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_reclaiming *reclaiming = &redis->session.reclaiming;
    int                         code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_RECLAIM, &code))
        return;
    assert(redis->session.unreclaimed && reclaiming->end <= reclaiming->count);
    if (code == HF_REDIS_AGAIN ||
        (code == HF_SERVED_DONE && hf_redis_number(reply, 3) != 0)) {
        put_down(redis); /* the same piece: the server has more to delete */
    } else if (code == HF_SERVED_DONE && reclaiming->end < reclaiming->count) {
        reclaiming->start = reclaiming->end;
        put_down(redis);
    } else if (code == HF_SERVED_DONE) {
        hf_redis_reclaim_end(redis);
        hf_redis_reclaimed(redis);
    } else if (code == HF_SERVED_GONE) { /* the grace period is over */
        hf_redis_reclaim_end(redis);
        hf_redis_session_restart(&redis->served);
    } else {
        hf_dial_break(redis->remote.dial, "has lost data again");
    }
}

/* Ids behind the last one of the previous piece, up to the last one of this piece. */
static void add_bounds(struct hf_redis                  *redis,
                       const struct hf_redis_reclaiming *reclaiming)
{
    if (reclaiming->start > 0)
        hf_redis_add_number(&redis->served, reclaiming->id[reclaiming->start - 1]);
    else
        hf_redis_add(&redis->served, "");
    if (reclaiming->end < reclaiming->count)
        hf_redis_add_number(&redis->served, reclaiming->id[reclaiming->end - 1]);
    else
        hf_redis_add(&redis->served, "");
}

static void put_down(struct hf_redis *redis)
{
    struct hf_redis_reclaiming *reclaiming = &redis->session.reclaiming;
    struct hf_served_place     *piece[PIECE];
    size_t                      count = 0, claims = 0;

    reclaiming->end = reclaiming->start + PIECE < reclaiming->count
                          ? reclaiming->start + PIECE
                          : reclaiming->count;
    for (size_t i = reclaiming->start; i < reclaiming->end; i++) {
        piece[count] = hf_served_place_find(&redis->served,
                                            reclaiming->id[i] - redis->served.first_id);
        claims += is_claim(piece[count]);
        count += is_ours(piece[count]);
    }
    assert(redis->session.unreclaimed && reclaiming->start <= reclaiming->end &&
           count <= PIECE);
    hf_redis_script(redis, HF_REDIS_RECLAIM, claims);
    for (size_t i = 0; i < count; i++)
        if (is_claim(piece[i]))
            hf_redis_add_claim(redis, piece[i]->name);
    hf_redis_add_session(redis);
    add_bounds(redis, reclaiming);
    for (size_t i = 0; i < count; i++)
        add_place(redis, piece[i]);
    hf_redis_send(redis, &redis->session.call, on_reclaimed, NULL);
}

/* ---- All of them -------------------------------------------------------------- */

void hf_redis_reclaim(struct hf_redis *redis)
{
    assert(redis->session.unreclaimed && redis->remote.dial->phase == HF_DIAL_GREETING);
    hf_redis_reclaim_end(redis);
    hf_redis_messages_drain(redis);
    hf_served_forget_overtaking(&redis->served);
    if (gather(&redis->session.reclaiming, &redis->served))
        put_down(redis);
    else
        hf_dial_break(redis->remote.dial, "cannot be sent our places: out of memory");
}

void hf_redis_reclaim_end(struct hf_redis *redis)
{
    free(redis->session.reclaiming.id);
    redis->session.reclaiming = (struct hf_redis_reclaiming){ 0 };
}
