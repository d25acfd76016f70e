/* session_key.c - the key of a session: reading, writing, handing it out; see end.h. */
#include "client/end/end.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

/* Offsets in a session key. */
#define AT_VERSION  6
#define AT_CHECKSUM 8
#define AT_TTL      16 /* the checksum begins here */
#define AT_URL_SIZE 20
#define AT_URL      24

static const uint8_t magic[AT_VERSION] = { 'h', 'f', 'w', 'i', 'l', 'l' };

static void put_number(uint8_t *at, uint64_t number, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t get_number(const uint8_t *at, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i < size; i++)
        number |= (uint64_t)at[i] << 8 * i;
    return number;
}

/* FNV-1a. */
static uint64_t checksum(const uint8_t *bytes, size_t size)
{
    uint64_t sum = 14695981039346656037U;

    for (size_t i = 0; i < size; i++)
        sum = (sum ^ bytes[i]) * 1099511628211U;
    return sum;
}

size_t hf_session_key_write(const struct hf_session_key *key, uint8_t *ret, size_t size)
{
    size_t needed = AT_URL + key->url_size + key->own_size;

    assert(key->own_size <= HF_SESSION_KEY_MAX && key->url_size <= UINT32_MAX);
    if (needed > size)
        return needed;
    memcpy(ret, magic, sizeof magic);
    put_number(ret + AT_VERSION, VERSION, 2);
    put_number(ret + AT_TTL, key->ttl_ms, 4);
    put_number(ret + AT_URL_SIZE, key->url_size, 4);
    memcpy(ret + AT_URL, key->url, key->url_size);
    memcpy(ret + AT_URL + key->url_size, key->own, key->own_size);
    put_number(ret + AT_CHECKSUM, checksum(ret + AT_TTL, needed - AT_TTL), 8);
    return needed;
}

static int say_key(int code, char *errmsg, const char *what)
{
    snprintf(errmsg, HF_ERRMSG_MAX, "the session key %s", what);
    return code;
}

int hf_session_key_read(const uint8_t *bytes, size_t size, struct hf_session_key *ret,
                        char *errmsg)
{
    if (bytes == NULL || size < AT_URL || memcmp(bytes, magic, sizeof magic) != 0)
        return say_key(HF_EINVAL, errmsg,
                       "is invalid: hf_session_key() did not write these bytes");
    if (get_number(bytes + AT_VERSION, 2) != VERSION)
        return say_key(
            HF_EUNSUPPORTED, errmsg,
            "is of another version of Holdfast: use that one to end the session");
    size_t url_size = get_number(bytes + AT_URL_SIZE, 4);
    if (get_number(bytes + AT_CHECKSUM, 8) != checksum(bytes + AT_TTL, size - AT_TTL) ||
        url_size > size - AT_URL || size - AT_URL - url_size > HF_SESSION_KEY_MAX)
        return say_key(
            HF_EINVAL, errmsg,
            "is damaged: these are not all the bytes that hf_session_key() wrote");
    struct hf_session_key key = {
        .url = (const char *)bytes + AT_URL,
        .url_size = url_size,
        .ttl_ms = (uint32_t)get_number(bytes + AT_TTL, 4),
        .own = bytes + AT_URL + url_size,
        .own_size = size - AT_URL - url_size,
    };
    if (url_size == 0 || key.ttl_ms > INT_MAX || memchr(key.url, '\0', url_size) != NULL)
        return say_key(HF_EINVAL, errmsg, "makes no sense");
    *ret = key;
    return 0;
}

int hf_session_key_make(struct hf_client *client, uint8_t *ret, size_t size)
{
    struct hf_store *store = client->store;
    uint8_t          own[HF_SESSION_KEY_MAX];

    if (store->impl->key == NULL)
        return HF_EUNSUPPORTED;
    int r = store->impl->key(store, own);
    assert(r <= HF_SESSION_KEY_MAX);
    if (r <= 0)
        return r < 0 ? r : HF_EDOWN;
    struct hf_session_key key = { .url = client->given,
                                  .url_size = strlen(client->given),
                                  .ttl_ms = (uint32_t)client->ttl_ms,
                                  .own = own,
                                  .own_size = (size_t)r };
    r = (int)hf_session_key_write(&key, ret, size);
    explicit_bzero(own, sizeof own);
    return r;
}

/* A session begins when the link comes up, before any request is sent.  So the key is
 * handed out before the session can be granted anything. */
static void on_up(void *data)
{
    struct hf_client *client = data;

    assert(client->store->outlives && client->store->link == HF_LINK_UP);
    int size = hf_session_key_make(client, NULL, 0);
    if (size < 0)
        return; /* refused: there is no session */
    uint8_t *key = malloc((size_t)size);
    if (key == NULL)
        return;
    if (hf_session_key_make(client, key, (size_t)size) == size) {
        if (client->guardian != NULL)
            hf_guardian_send_key(client->guardian, key, (size_t)size);
        if (client->on_session_key != NULL)
            client->on_session_key(key, (size_t)size, client->data);
    }
    explicit_bzero(key, (size_t)size);
    free(key);
}

void hf_session_key_hand_out(struct hf_client *client)
{
    assert(client->store->link != HF_LINK_UP); /* else the first key would be missed */
    if (client->guardian == NULL && client->on_session_key == NULL)
        return;
    client->engine.on_up = on_up;
    client->engine.on_up_data = client;
}

struct wanted {
    struct hf_client *client;
    void             *ret;
    size_t            size;
    int               result;
    char              why[HF_ERRMSG_MAX];
};

static void make_wanted(void *arg)
{
    struct wanted *wanted = arg;

    wanted->result = hf_session_key_make(wanted->client, wanted->ret, wanted->size);
    snprintf(wanted->why, sizeof wanted->why, "%s", wanted->client->store->errmsg);
}

int hf_session_key(struct hf_client *client, void *ret, size_t size)
{
    struct wanted wanted = { .client = client, .ret = ret, .size = size };
    const char   *why = wanted.why;
    int           cancel;

    int r = hf_client_begin(client, &cancel);
    if (r < 0)
        return r;
    hf_drive_run(&client->drive, make_wanted, &wanted);
    r = wanted.result;
    if (r == HF_EUNSUPPORTED)
        hf_client_fail(client, r, "sessions in this store have no key");
    else if (r == HF_EDOWN)
        hf_client_fail(client, r, "there is no session yet%s%s", *why != '\0' ? ": " : "",
                       why);
    else if (r < 0)
        hf_client_fail(client, r, "%s", why);
    hf_client_end(client, cancel);
    return r;
}
