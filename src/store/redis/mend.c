/* mend.c - the server has lost data: put our places down again, with their numbers.
 *
 * Places that we have given up meanwhile are left out.  If the server still has them, it
 * forgets them.  Of a place whose ENTER was never answered we know only the id: it stays,
 * if it is there.
 *
 * There may be very many places, and while a script runs the server serves nobody else.
 * So they are told piece by piece, in the order of their ids as texts, which is the
 * server's.  Meanwhile no verb is sent, so no place comes or goes.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 200

static void put_down(struct hf_redis *redis);

/* ---- Which, and in which order -------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    char   x[HF_REDIS_DIGITS], y[HF_REDIS_DIGITS];
    size_t n = hf_redis_digits(*(const uint64_t *)a, 0, x);
    size_t m = hf_redis_digits(*(const uint64_t *)b, 0, y);
    int    r = memcmp(x, y, n < m ? n : m);

    return r != 0 ? r : (n > m) - (n < m);
}

static bool gather(struct hf_redis_mending *mending, const struct hf_served *served)
{
    mending->id = malloc((served->places + 1) * sizeof *mending->id);
    if (mending->id == NULL)
        return false;
    for (size_t i = 0; i < HF_SERVED_BUCKETS; i++)
        for (const struct hf_served_place *at = served->place[i]; at != NULL;
             at = at->next)
            mending->id[mending->count++] = at->id;
    assert(mending->count == served->places);
    qsort(mending->id, mending->count, sizeof *mending->id, by_text);
    return true;
}

/* What somebody may have taken from us is given up: it may be his by now. */
static bool is_ours(const struct hf_served_place *place)
{
    return place != NULL && !place->leaving && !place->away && !place->doubted;
}

static bool is_claim(const struct hf_served_place *place)
{
    return is_ours(place) && place->shape.claim && place->granted;
}

/* ---- One piece ------------------------------------------------------------------ */

/* A number is the time at which its place was made: since then one who waits has waited. */
static void add_place(struct hf_redis *redis, const struct hf_served_place *place)
{
    uint64_t since = place->granted ? (uint64_t)place->since : place->seq;
    char     slot[16], secret[HF_SERVED_SECRET];

    assert(is_ours(place));
    hf_served_place_secret(place, secret);
    snprintf(slot, sizeof slot, "%d", place->slot);
    hf_redis_add_number(&redis->served, place->id);
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

static void on_mended(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_mending *mending = &redis->session.mending;
    int                      code;

    (void)data;
    if (!hf_redis_session_answered(redis, reply, HF_REDIS_MEND, &code))
        return;
    assert(redis->session.unmended && mending->end <= mending->count);
    if (code == HF_REDIS_AGAIN ||
        (code == HF_SERVED_DONE && hf_redis_number(reply, 3) != 0)) {
        put_down(redis); /* the same piece: there is more to take away */
    } else if (code == HF_SERVED_DONE && mending->end < mending->count) {
        mending->start = mending->end;
        put_down(redis);
    } else if (code == HF_SERVED_DONE) {
        hf_redis_mend_end(redis);
        hf_redis_mended(redis);
    } else if (code == HF_SERVED_GONE) { /* too late */
        hf_redis_mend_end(redis);
        hf_redis_session_restart(&redis->served);
    } else {
        hf_dial_break(redis->remote.dial, "lost its data once more");
    }
}

/* Behind the last of the piece before, up to the last of this one. */
static void add_bounds(struct hf_redis *redis, const struct hf_redis_mending *mending)
{
    if (mending->start > 0)
        hf_redis_add_number(&redis->served, mending->id[mending->start - 1]);
    else
        hf_redis_add(&redis->served, "");
    if (mending->end < mending->count)
        hf_redis_add_number(&redis->served, mending->id[mending->end - 1]);
    else
        hf_redis_add(&redis->served, "");
}

static void put_down(struct hf_redis *redis)
{
    struct hf_redis_mending *mending = &redis->session.mending;
    struct hf_served_place  *piece[PIECE];
    size_t                   count = 0, claims = 0;

    mending->end =
        mending->start + PIECE < mending->count ? mending->start + PIECE : mending->count;
    for (size_t i = mending->start; i < mending->end; i++) {
        piece[count] = hf_served_place_find(&redis->served, mending->id[i]);
        claims += is_claim(piece[count]);
        count += is_ours(piece[count]);
    }
    assert(redis->session.unmended && mending->start <= mending->end && count <= PIECE);
    hf_redis_script(redis, HF_REDIS_MEND, claims);
    for (size_t i = 0; i < count; i++)
        if (is_claim(piece[i]))
            hf_redis_add_claim(redis, piece[i]->name);
    hf_redis_add_who(redis);
    add_bounds(redis, mending);
    for (size_t i = 0; i < count; i++)
        add_place(redis, piece[i]);
    hf_redis_send(redis, &redis->session.call, on_mended, NULL);
}

/* ---- All of them ---------------------------------------------------------------- */

void hf_redis_mend(struct hf_redis *redis)
{
    assert(redis->session.unmended && redis->remote.dial->phase == HF_DIAL_GREETING);
    hf_redis_mend_end(redis);
    if (gather(&redis->session.mending, &redis->served))
        put_down(redis);
    else
        hf_dial_break(redis->remote.dial, "cannot be told what we have: out of memory");
}

void hf_redis_mend_end(struct hf_redis *redis)
{
    free(redis->session.mending.id);
    redis->session.mending = (struct hf_redis_mending){ 0 };
}
