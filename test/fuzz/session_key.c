/* session_key.c - anything as a session key, and as the parts of one. */
#include "client/end/end.h"
#include "fuzz/fuzz.h"
#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void check_read(const uint8_t *bytes, size_t size)
{
    struct hf_session_key key;
    char                  errmsg[HF_ERRMSG_MAX] = "";

    int r = hf_session_key_read(bytes, size, &key, errmsg);
    assert(r == 0 || r == HF_EINVAL || r == HF_EUNSUPPORTED);
    assert((r == 0) == (errmsg[0] == '\0'));
    if (r < 0)
        return;
    assert(key.url_size > 0); /* else it would be of whatever store is the default */
    assert(key.own_size <= HF_SESSION_KEY_MAX && key.own + key.own_size == bytes + size);
    assert((const uint8_t *)key.url + key.url_size == key.own);
    uint8_t *again = malloc(size);
    if (again == NULL)
        abort();
    assert(hf_session_key_write(&key, again, size) == size);
    assert(memcmp(again, bytes, size) == 0); /* there is one way to write a session key */
    free(again);
}

/* The first byte says how much of the rest is the store's. */
static void check_parts(const uint8_t *bytes, size_t size)
{
    size_t                own_size = bytes[0] < size ? bytes[0] : 0;
    struct hf_session_key key = { .url = (const char *)bytes,
                                  .url_size = size - own_size,
                                  .ttl_ms = (uint32_t)(bytes[0] * 1000003u),
                                  .own = bytes + size - own_size,
                                  .own_size = own_size };
    size_t                needed = hf_session_key_write(&key, NULL, 0);
    uint8_t              *whole = malloc(needed);
    if (whole == NULL)
        abort();

    assert(needed > size && hf_session_key_write(&key, whole, needed) == needed);
    check_read(whole, needed);
    whole[bytes[size - 1] % needed] ^= 0x80;
    struct hf_session_key none;
    char                  errmsg[HF_ERRMSG_MAX];
    assert(hf_session_key_read(whole, needed, &none, errmsg) < 0);
    free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    check_read(bytes, size);
    if (size > 0)
        check_parts(bytes, size);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_main(argc, argv, __FILE__);
}
#endif
