/* will.c - see will.h. */
#include "client/will.h"

#include "holdfast.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MAGIC     "hfwill"
#define MAGIC_LEN 6
#define VERSION   1
#define CHECKED   16 /* where the checksum ends */
#define HEAD      24 /* where the URL begins */

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
    size_t needed = HEAD + will->url_size + will->own_size;

    assert(will->own_size <= HF_WILL_MAX && will->url_size <= UINT32_MAX);
    if (needed > size)
        return needed;
    memcpy(ret, MAGIC, MAGIC_LEN);
    ret[MAGIC_LEN] = VERSION;
    ret[MAGIC_LEN + 1] = 0;
    put_number(ret + CHECKED, will->ttl_ms, 4);
    put_number(ret + CHECKED + 4, will->url_size, 4);
    memcpy(ret + HEAD, will->url, will->url_size);
    memcpy(ret + HEAD + will->url_size, will->own, will->own_size);
    put_number(ret + 8, checksum(ret + CHECKED, needed - CHECKED), 8);
    return needed;
}

static int say_will(int code, char *errmsg, const char *what)
{
    snprintf(errmsg, HF_ERRMSG_MAX, "the will %s", what);
    return code;
}

int hf_will_read(const uint8_t *bytes, size_t size, struct hf_will *ret, char *errmsg)
{
    if (size < HEAD || memcmp(bytes, MAGIC, MAGIC_LEN) != 0)
        return say_will(HF_EINVAL, errmsg,
                        "is none: hf_will() did not write these bytes");
    if (bytes[MAGIC_LEN] != VERSION)
        return say_will(HF_EUNSUPPORTED, errmsg,
                        "is of another version of Holdfast: let that one execute it");
    size_t url_size = get_number(bytes + CHECKED + 4, 4);
    if (get_number(bytes + 8, 8) != checksum(bytes + CHECKED, size - CHECKED) ||
        url_size > size - HEAD || size - HEAD - url_size > HF_WILL_MAX)
        return say_will(HF_EINVAL, errmsg,
                        "is damaged: these are not all the bytes that hf_will() wrote");
    *ret = (struct hf_will){
        .url = (const char *)bytes + HEAD,
        .url_size = url_size,
        .ttl_ms = (uint32_t)get_number(bytes + CHECKED, 4),
        .own = bytes + HEAD + url_size,
        .own_size = size - HEAD - url_size,
    };
    if (ret->ttl_ms > INT_MAX || memchr(ret->url, '\0', url_size) != NULL)
        return say_will(HF_EINVAL, errmsg, "makes no sense");
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

static bool is_not_turned(void *arg)
{
    const struct hf_client *client = arg;

    return !client->drive.turning;
}

int hf_will(struct hf_client *client, void *ret, size_t size)
{
    int cancel;

    int r = hf_client_begin(client, &cancel);
    if (r < 0)
        return r;
    (void)hf_drive_wait(&client->drive, is_not_turned, client, HF_NEVER);
    r = hf_will_make(client, ret, size);
    if (r == HF_EUNSUPPORTED)
        hf_client_fail(client, r, "sessions in this store leave no will");
    else if (r < 0)
        hf_client_fail(client, r, "there is no session yet%s%s",
                       *client->store->errmsg != '\0' ? ": " : "", client->store->errmsg);
    hf_client_end(client, cancel);
    return r;
}
