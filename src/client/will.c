/* will.c - see will.h. */
#include "client/will.h"

#include "client/warden.h"
#include "holdfast.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

/* Where in a will */
#define AT_VERSION  6
#define AT_CHECKSUM 8
#define AT_TTL      16 /* from here on it is checked */
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

size_t hf_will_write(const struct hf_will *will, uint8_t *ret, size_t size)
{
    size_t needed = AT_URL + will->url_size + will->own_size;

    assert(will->own_size <= HF_WILL_MAX && will->url_size <= UINT32_MAX);
    if (needed > size)
        return needed;
    memcpy(ret, magic, sizeof magic);
    put_number(ret + AT_VERSION, VERSION, 2);
    put_number(ret + AT_TTL, will->ttl_ms, 4);
    put_number(ret + AT_URL_SIZE, will->url_size, 4);
    memcpy(ret + AT_URL, will->url, will->url_size);
    memcpy(ret + AT_URL + will->url_size, will->own, will->own_size);
    put_number(ret + AT_CHECKSUM, checksum(ret + AT_TTL, needed - AT_TTL), 8);
    return needed;
}

static int say_will(int code, char *errmsg, const char *what)
{
    snprintf(errmsg, HF_ERRMSG_MAX, "the will %s", what);
    return code;
}

int hf_will_read(const uint8_t *bytes, size_t size, struct hf_will *ret, char *errmsg)
{
    if (bytes == NULL || size < AT_URL || memcmp(bytes, magic, sizeof magic) != 0)
        return say_will(HF_EINVAL, errmsg,
                        "is none: hf_will() did not write these bytes");
    if (get_number(bytes + AT_VERSION, 2) != VERSION)
        return say_will(HF_EUNSUPPORTED, errmsg,
                        "is of another version of Holdfast: let that one execute it");
    size_t url_size = get_number(bytes + AT_URL_SIZE, 4);
    if (get_number(bytes + AT_CHECKSUM, 8) != checksum(bytes + AT_TTL, size - AT_TTL) ||
        url_size > size - AT_URL || size - AT_URL - url_size > HF_WILL_MAX)
        return say_will(HF_EINVAL, errmsg,
                        "is damaged: these are not all the bytes that hf_will() wrote");
    struct hf_will will = {
        .url = (const char *)bytes + AT_URL,
        .url_size = url_size,
        .ttl_ms = (uint32_t)get_number(bytes + AT_TTL, 4),
        .own = bytes + AT_URL + url_size,
        .own_size = size - AT_URL - url_size,
    };
    if (url_size == 0 || will.ttl_ms > INT_MAX ||
        memchr(will.url, '\0', url_size) != NULL)
        return say_will(HF_EINVAL, errmsg, "makes no sense");
    *ret = will;
    return 0;
}

int hf_will_make(struct hf_client *client, uint8_t *ret, size_t size)
{
    struct hf_store *store = client->store;
    uint8_t          own[HF_WILL_MAX];

    if (store->impl->will == NULL)
        return HF_EUNSUPPORTED;
    int r = store->impl->will(store, own);
    assert(r <= HF_WILL_MAX);
    if (r <= 0)
        return r < 0 ? r : HF_EDOWN;
    struct hf_will will = { .url = client->given,
                            .url_size = strlen(client->given),
                            .ttl_ms = (uint32_t)client->ttl_ms,
                            .own = own,
                            .own_size = (size_t)r };
    r = (int)hf_will_write(&will, ret, size);
    explicit_bzero(own, sizeof own);
    return r;
}

/* A session begins with the link coming up, and has asked for nothing yet: whatever it is
 * granted, its will is known before. */
static void on_up(void *data)
{
    struct hf_client *client = data;

    assert(client->store->outlives && client->store->link == HF_LINK_UP);
    int size = hf_will_make(client, NULL, 0);
    if (size < 0)
        return; /* we were refused: there is no session */
    uint8_t *will = malloc((size_t)size);
    if (will == NULL)
        return;
    if (hf_will_make(client, will, (size_t)size) == size) {
        if (client->warden != NULL)
            hf_warden_tell(client->warden, will, (size_t)size);
        if (client->on_will != NULL)
            client->on_will(will, (size_t)size, client->data);
    }
    explicit_bzero(will, (size_t)size);
    free(will);
}

void hf_will_hand_out(struct hf_client *client)
{
    assert(client->store->link != HF_LINK_UP); /* or the first would be missed */
    if (client->warden == NULL && client->on_will == NULL)
        return;
    client->engine.on_up = on_up;
    client->engine.on_up_data = client;
}

int hf_will(struct hf_client *client, void *ret, size_t size)
{
    int cancel;

    int r = hf_client_begin(client, &cancel);
    if (r < 0)
        return r;
    hf_client_await_turned(client);
    r = hf_will_make(client, ret, size);
    const char *why = client->store->errmsg;
    if (r == HF_EUNSUPPORTED)
        hf_client_fail(client, r, "sessions in this store leave no will");
    else if (r == HF_EDOWN)
        hf_client_fail(client, r, "there is no session yet%s%s", *why != '\0' ? ": " : "",
                       why);
    else if (r < 0)
        hf_client_fail(client, r, "%s", why);
    hf_client_end(client, cancel);
    return r;
}
