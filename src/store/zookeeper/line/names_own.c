/* names_own.c - the names of our own nodes: see names.h. */
#include "store/zookeeper/line/names.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool starts(const char *name, size_t size, const char *text)
{
    size_t length = strlen(text);

    return size >= length && memcmp(name, text, length) == 0;
}

void hf_zk_uuid_bare(const char *uuid, char ret[33])
{
    size_t count = 0;

    assert(strlen(uuid) == HF_ZK_UUID);
    for (; *uuid != '\0'; uuid++)
        if (*uuid != '-' && count < 32)
            ret[count++] = *uuid;
    ret[count] = '\0';
}

bool hf_zk_child_is(const char *name, size_t size, const char *uuid)
{
    char bare[33];

    if (starts(name, size, "_c_") && size > 3 + HF_ZK_UUID &&
        memcmp(name + 3, uuid, HF_ZK_UUID) == 0 && name[3 + HF_ZK_UUID] == '-')
        return true;
    hf_zk_uuid_bare(uuid, bare);
    return starts(name, size, bare) && starts(name + 32, size - 32, "__");
}

bool hf_zk_child_is_holdfast(const char *name, size_t size)
{
    if (starts(name, size, "claim"))
        return true;
    if (starts(name, size, "_c_"))
        return size > 3 + 14 && name[3 + 14] == '8';
    return size > 33 && memcmp(name + 32, "__", 2) == 0 && name[12] == '8';
}

/* Curator requires a UUID.  Ours are of version 8, which is free for such use and shows
 * that Holdfast made the node.  Six of the 128 bits are fixed; 64 of the others hold the
 * id, 58 tell clients apart. */
void hf_zk_uuid(const uint64_t salt[2], uint64_t id, char *ret)
{
    uint64_t mixed = id + salt[0];
    uint64_t last =
        0x8000000000000000u | (mixed & 0xf) << 58 | (salt[1] & ((UINT64_C(1) << 58) - 1));

    snprintf(ret, HF_ZK_UUID + 1,
             "%08" PRIx64 "-%04" PRIx64 "-8%03" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
             mixed >> 32, mixed >> 16 & 0xffff, mixed >> 4 & 0xfff, last >> 48,
             last & 0xffffffffffff);
}

/* Behind the id, where no other program looks. */
static size_t token_at(const char *name, size_t size, const char **mark)
{
    bool protected = starts(name, size, "_c_");

    *mark = protected ? "-token-" : "__token-";
    return protected ? 3 + HF_ZK_UUID : 32;
}

uint64_t hf_zk_child_token(const char *name, size_t size)
{
    const char *mark;
    size_t      at = token_at(name, size, &mark);
    char        digits[21] = "";

    if (size <= at || !hf_zk_child_is_holdfast(name, size) ||
        !starts(name + at, size - at, mark))
        return 0;
    at += strlen(mark);
    for (size_t i = 0; i < 20 && at + i < size; i++) {
        if (name[at + i] < '0' || name[at + i] > '9')
            break;
        digits[i] = name[at + i];
    }
    return strtoull(digits, NULL, 10);
}

void hf_zk_child_name(enum hf_zk_style style, const struct hf_shape *shape,
                      const char *uuid, uint64_t token, int64_t number,
                      char ret[HF_ZK_CHILD_MAX])
{
    char        text[HF_ZK_CHILD_MAX], known[HF_ZK_TOKEN_MOST + 1] = "";
    const char *mark;

    assert(number >= INT32_MIN && number <= INT32_MAX);
    hf_zk_child_prefix(style, shape, uuid, text);
    size_t at = token_at(text, strlen(text), &mark);
    if (token != 0)
        snprintf(known, sizeof known, "%s%" PRIu64, mark, token);
    int size = snprintf(ret, HF_ZK_CHILD_MAX, "%.*s%s%s%010" PRId64, (int)at, text, known,
                        text + at, number);
    assert(size < HF_ZK_CHILD_MAX);
    (void)size;
}
