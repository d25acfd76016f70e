/* will.c - anything as a will, and as the parts of one. */
#include "client/will.h"
#include "fuzz/fuzz.h"
#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void check_read(const uint8_t *bytes, size_t size)
{
    struct hf_will will;
    char           errmsg[HF_ERRMSG_MAX] = "";

    int r = hf_will_read(bytes, size, &will, errmsg);
    assert(r == 0 || r == HF_EINVAL || r == HF_EUNSUPPORTED);
    assert((r == 0) == (errmsg[0] == '\0'));
    if (r < 0)
        return;
    assert(will.url_size > 0); /* else it would be of whatever store is the default */
    assert(will.own_size <= HF_WILL_MAX && will.own + will.own_size == bytes + size);
    assert((const uint8_t *)will.url + will.url_size == will.own);
    uint8_t *again = malloc(size);
    if (again == NULL)
        abort();
    assert(hf_will_write(&will, again, size) == size);
    assert(memcmp(again, bytes, size) == 0); /* there is one way to write a will */
    free(again);
}

/* The first byte says how much of the rest is the store's. */
static void check_parts(const uint8_t *bytes, size_t size)
{
    size_t         own_size = bytes[0] < size ? bytes[0] : 0;
    struct hf_will will = { .url = (const char *)bytes,
                            .url_size = size - own_size,
                            .ttl_ms = (uint32_t)(bytes[0] * 1000003u),
                            .own = bytes + size - own_size,
                            .own_size = own_size };
    size_t         needed = hf_will_write(&will, NULL, 0);
    uint8_t       *whole = malloc(needed);
    if (whole == NULL)
        abort();

    assert(needed > size && hf_will_write(&will, whole, needed) == needed);
    check_read(whole, needed);
    whole[bytes[size - 1] % needed] ^= 0x80;
    struct hf_will none;
    char           errmsg[HF_ERRMSG_MAX];
    assert(hf_will_read(whole, needed, &none, errmsg) < 0);
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
