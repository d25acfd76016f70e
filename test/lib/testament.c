/* testament.c - see testament.h. */
#include "lib/testament.h"

#include "client/will.h"
#include "holdfast.h"

#include <string.h>

#define LIMIT 20000 /* ms */

size_t testament_own(struct player *player, uint8_t *own)
{
    hf_time end = hf_now() + LIMIT * HF_MS;
    int     size;

    while ((size = player->store->impl->will(player->store, own)) == 0 && hf_now() < end)
        player_turn(player, 10);
    must(size > 0 && size <= HF_WILL_MAX);
    return (size_t)size;
}

static void pack_for(struct testament *ret, const char *url, uint32_t ttl_ms,
                     const uint8_t *own, size_t own_size)
{
    struct hf_will will = { .url = url,
                            .url_size = strlen(url),
                            .ttl_ms = ttl_ms,
                            .own = own,
                            .own_size = own_size };

    ret->size = hf_will_write(&will, ret->bytes, sizeof ret->bytes);
    must(ret->size <= sizeof ret->bytes);
}

void testament_pack(struct testament *ret, const uint8_t *own, size_t own_size)
{
    pack_for(ret, promise_url(), 2000, own, own_size);
}

void testament_take(struct hf_client *client, struct testament *ret)
{
    int size = hf_will(client, ret->bytes, sizeof ret->bytes);

    if (size <= 0 || (size_t)size > sizeof ret->bytes)
        fail_msg("hf_will: %d: %s", size, hf_errmsg(client));
    ret->size = (size_t)size;
}

void testament_move(const struct testament *will, const char *url, struct testament *ret)
{
    struct hf_will read;
    char           error[HF_ERRMSG_MAX];

    assert_int_equal(hf_will_read(will->bytes, will->size, &read, error), 0);
    pack_for(ret, url, read.ttl_ms, read.own, read.own_size);
}

void testament_write(struct player *player, struct testament *ret)
{
    uint8_t own[HF_WILL_MAX];
    size_t  size = testament_own(player, own);

    ret->alive_until = player->store->alive_until;
    testament_pack(ret, own, size);
}

void testament_execute(const struct testament *will)
{
    char error[HF_ERRMSG_MAX] = "";
    int  r = hf_execute(will->bytes, will->size, LIMIT, error, sizeof error);

    if (r != 0)
        fail_msg("hf_execute: %s: %s", hf_errname(r), error);
}

void testament_refused(const struct testament *will, int code)
{
    char error[HF_ERRMSG_MAX] = "";

    assert_int_equal(hf_execute(will->bytes, will->size, LIMIT, error, sizeof error),
                     code);
    assert_non_null(strstr(error, "will"));
    assert_int_equal(hf_execute(will->bytes, will->size, LIMIT, NULL, 0), code);
}

/* Only what does not end by itself shows anything: who is alive is kept so. */
void await_loss(struct player *player, int times)
{
    hf_time end = hf_now() + LIMIT * HF_MS;

    while (player->lost < times && hf_now() < end)
        player_turn(player, 10);
    assert_int_equal(player->lost, times);
}

void await_turn(struct player *player, const char *name, struct ask *view,
                struct player *owner)
{
    hf_time  end = hf_now() + LIMIT * HF_MS;
    uint64_t id = view->req.id;

    while (!is_granted(view) && hf_now() < end) {
        player_turn(owner, 1);
        player_turn(player, 1);
        assert_int_equal(look(player, name, id, view), 0);
    }
    assert_true(is_granted(view));
}
