/* session_keys.c - see session_keys.h. */
#include "lib/session_keys.h"

#include "client/end/end.h"
#include "holdfast.h"

#include <string.h>

#define LIMIT 20000 /* ms */

size_t session_key_own(struct player *player, uint8_t *own)
{
    hf_time end = hf_now() + LIMIT * HF_MS;
    int     size;

    while ((size = player->store->impl->key(player->store, own)) == 0 && hf_now() < end)
        player_turn(player, 10);
    must(size > 0 && size <= HF_SESSION_KEY_MAX);
    return (size_t)size;
}

static void pack_for(struct session_key *ret, const char *url, uint32_t ttl_ms,
                     const uint8_t *own, size_t own_size)
{
    struct hf_session_key key = { .url = url,
                                  .url_size = strlen(url),
                                  .ttl_ms = ttl_ms,
                                  .own = own,
                                  .own_size = own_size };

    ret->size = hf_session_key_write(&key, ret->bytes, sizeof ret->bytes);
    must(ret->size <= sizeof ret->bytes);
}

void session_key_pack(struct session_key *ret, const uint8_t *own, size_t own_size)
{
    pack_for(ret, promise_url(), 2000, own, own_size);
}

void session_key_take(struct hf_client *client, struct session_key *ret)
{
    int size = hf_session_key(client, ret->bytes, sizeof ret->bytes);

    if (size <= 0 || (size_t)size > sizeof ret->bytes)
        fail_msg("hf_session_key: %d: %s", size, hf_errmsg(client));
    ret->size = (size_t)size;
}

void session_key_move(const struct session_key *key, const char *url,
                      struct session_key *ret)
{
    struct hf_session_key read;
    char                  error[HF_ERRMSG_MAX];

    assert_int_equal(hf_session_key_read(key->bytes, key->size, &read, error), 0);
    pack_for(ret, url, read.ttl_ms, read.own, read.own_size);
}

void session_key_write(struct player *player, struct session_key *ret)
{
    uint8_t own[HF_SESSION_KEY_MAX];
    size_t  size = session_key_own(player, own);

    ret->alive_until = player->store->alive_until;
    session_key_pack(ret, own, size);
}

void session_key_end(const struct session_key *key)
{
    char error[HF_ERRMSG_MAX] = "";
    int  r = hf_end_session(key->bytes, key->size, LIMIT, error, sizeof error);

    if (r != 0)
        fail_msg("hf_end_session: %s: %s", hf_errname(r), error);
}

void session_key_refused(const struct session_key *key, int code)
{
    char error[HF_ERRMSG_MAX] = "";

    assert_int_equal(hf_end_session(key->bytes, key->size, LIMIT, error, sizeof error),
                     code);
    assert_non_null(strstr(error, "session key"));
    assert_int_equal(hf_end_session(key->bytes, key->size, LIMIT, NULL, 0), code);
}

/* The owner keeps its session alive: only the key can end it. */
void await_loss(struct player *player, int times)
{
    hf_time end = hf_now() + LIMIT * HF_MS;

    while (player->lost < times && hf_now() < end)
        player_turn(player, 10);
    assert_int_equal(player->lost, times);
}

void await_turn(struct player *player, const char *name, struct request *view,
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
