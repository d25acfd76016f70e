/* names.c - see names.h. */
#include "store/zookeeper/line/names.h"

#include "base/name.h"
#include "store/store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The endings of the kinds that only Holdfast has.  A later layout uses other words. */
#if HF_LAYOUT_BUMP == 0
#define LAYOUT "-"
#else
#define LAYOUT "2-"
#endif

static const struct hf_shape mutex = { .weight = 1, .capacity = 1 };
static const struct hf_shape reader = { .weight = 1, .capacity = HF_ALL };
static const struct hf_shape writer = { .weight = HF_ALL, .capacity = HF_ALL };
static const struct hf_shape claim = { .weight = 1, .capacity = 1, .claim = true };

/* ---- Reading a child's name --------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_text(const char *name, size_t size, const char *text)
{
    return size == strlen(text) && memcmp(name, text, size) == 0;
}

static bool starts(const char *name, size_t size, const char *text)
{
    size_t length = strlen(text);

    return size >= length && memcmp(name, text, length) == 0;
}

static bool ends(const char *name, size_t size, const char *text)
{
    size_t length = strlen(text);

    return size >= length && memcmp(name + size - length, text, length) == 0;
}

/* Where the digits at the end of the name begin, at most `most` of them. */
static size_t digits_at(const char *name, size_t size, size_t most)
{
    size_t at = size;

    while (at > 0 && size - at < most && is_digit(name[at - 1]))
        at--;
    return at;
}

/* Digits as a number; at most ten of them, so that it cannot overflow. */
static uint64_t digits_value(const char *digits, size_t count)
{
    uint64_t value = 0;

    assert(count <= 10);
    for (size_t i = 0; i < count; i++)
        value = value * 10 + (uint64_t)(digits[i] - '0');
    return value;
}

/* Remove "<digits>-" from the end.  False if there are none; 0 if it cannot be a weight
 * or capacity. */
static bool take_number(const char *name, size_t *size, int64_t *ret)
{
    if (!ends(name, *size, "-"))
        return false;
    size_t end = *size - 1;
    size_t at = digits_at(name, end, end);
    if (at == end)
        return false;
    *ret = end - at <= 10 && name[at] != '0' ? (int64_t)digits_value(name + at, end - at)
                                             : 0;
    *size = at;
    return true;
}

/* "...-sem-<capacity>-<weight>-", with any numbers: nobody else uses such names, and the
 * place blocks others. */
static bool is_semaphore(const char *name, size_t size, struct hf_shape *ret)
{
    int64_t weight, capacity;

    if (!take_number(name, &size, &weight) || !take_number(name, &size, &capacity) ||
        !ends(name, size, "-sem" LAYOUT))
        return false;
    bool can_be = capacity >= 2 && capacity < HF_ALL;
    *ret = hf_shape_read(weight, can_be ? capacity : 0, false);
    return true;
}

/* "x-<session>-"; Java writes the session as a signed number, C in hexadecimal. */
static bool is_recipe(const char *name, size_t size)
{
    if (!starts(name, size, "x-") || !ends(name, size, "-") || size < 4)
        return false;
    size_t from = name[2] == '-' ? 3 : 2, to = size - 1;
    return from < to && memchr(name + from, '-', to - from) == NULL;
}

/* The text before the number: is it a place, and of what kind? */
static bool read_kind(const char *name, size_t size, struct hf_zk_child *ret)
{
    static const struct {
        const char            *end;
        enum hf_zk_style       style;
        const struct hf_shape *shape;
    } kinds[] = {
        { "lock-", HF_ZK_CURATOR, &mutex },        { "latch-", HF_ZK_CURATOR, &mutex },
        { "__READ__", HF_ZK_CURATOR, &reader },    { "__WRIT__", HF_ZK_CURATOR, &writer },
        { "__lock__", HF_ZK_KAZOO, &mutex },       { "__rlock__", HF_ZK_KAZOO, &reader },
        { "-claim" LAYOUT, HF_ZK_NATIVE, &claim },
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ends(name, size, kinds[i].end)) {
            ret->style = kinds[i].style;
            ret->shape = *kinds[i].shape;
            return true;
        }
    if (is_semaphore(name, size, &ret->shape)) {
        ret->style = HF_ZK_NATIVE;
        return true;
    }
    if (is_recipe(name, size)) {
        ret->style = HF_ZK_RECIPE;
        ret->shape = mutex;
        return true;
    }
    return false;
}

/* A place with a number.  A dash before the digits is either the end of the kind or a
 * minus; no name can be read both ways. */
static bool read_place(const char *name, size_t size, struct hf_zk_child *ret)
{
    size_t  at = digits_at(name, size, 10);
    int64_t number = (int64_t)digits_value(name + at, size - at);

    if (size - at == 10 && number <= INT32_MAX && read_kind(name, at, ret)) {
        ret->number = number;
        return true;
    }
    if (size - at < 9 || at == 0 || name[at - 1] != '-' || -number < INT32_MIN)
        return false;
    ret->number = -number;
    return read_kind(name, at - 1, ret);
}

/* A place of an unknown kind that Holdfast made. */
static bool read_unknown(const char *name, size_t size, struct hf_zk_child *ret)
{
    size_t at = digits_at(name, size, 10);

    *ret = (struct hf_zk_child){ .style = HF_ZK_NATIVE,
                                 .shape = hf_shape_read(0, 0, false),
                                 .number = (int32_t)digits_value(name + at, size - at) };
    return size - at >= 9 && starts(name, size, "_c_") &&
           hf_zk_child_is_holdfast(name, size);
}

/* "slot-<N>", without leading zeros. */
static bool read_slot(const char *name, size_t size, struct hf_zk_child *ret)
{
    size_t at = digits_at(name, size, 10), count = size - at;

    if (count == 0 || !is_text(name, at, "slot-") || (count > 1 && name[at] == '0'))
        return false;
    uint64_t number = digits_value(name + at, count);
    if (number >= HF_ALL)
        return false;
    *ret = (struct hf_zk_child){ .style = HF_ZK_SLOT, .number = (int64_t)number };
    return true;
}

void hf_zk_child_parse(const char *name, size_t size, struct hf_zk_child *ret)
{
    struct hf_zk_child child;

    if (is_text(name, size, "claim"))
        *ret = (struct hf_zk_child){ .style = HF_ZK_CLAIM, .shape = claim };
    else if (read_slot(name, size, &child) || read_place(name, size, &child) ||
             read_unknown(name, size, &child))
        *ret = child;
    else
        *ret = (struct hf_zk_child){ .style = HF_ZK_FOREIGN };
}

uint64_t hf_zk_child_seq(const struct hf_zk_child *child)
{
    return child->style == HF_ZK_CLAIM ? 1 : (uint64_t)(uint32_t)child->number + 2;
}

bool hf_zk_child_claims(const struct hf_zk_child *child)
{
    return child->style == HF_ZK_NATIVE &&
           (child->shape.claim || hf_shape_invalid(&child->shape));
}

/* ---- Our own ------------------------------------------------------------------------ */

void hf_zk_child_prefix(enum hf_zk_style style, const struct hf_shape *shape,
                        const char *uuid, char ret[HF_ZK_CHILD_MAX])
{
    bool reads = shape->weight == 1 && shape->capacity == HF_ALL;
    bool writes = shape->weight == HF_ALL && shape->capacity == HF_ALL;
    char bare[33];

    assert(style == HF_ZK_CURATOR || style == HF_ZK_KAZOO);
    assert(shape->weight >= 1 && shape->weight <= shape->capacity);
    assert(shape->capacity < HF_ALL || reads || writes);
    hf_zk_uuid_bare(uuid, bare);
    if (shape->claim)
        snprintf(ret, HF_ZK_CHILD_MAX, "_c_%s-claim" LAYOUT, uuid);
    else if (hf_shape_has_slots(shape))
        snprintf(ret, HF_ZK_CHILD_MAX, "_c_%s-sem" LAYOUT "%" PRIu32 "-%" PRIu32 "-",
                 uuid, shape->capacity, shape->weight);
    else if (style == HF_ZK_KAZOO)
        snprintf(ret, HF_ZK_CHILD_MAX, "%s%s", bare, reads ? "__rlock__" : "__lock__");
    else
        snprintf(ret, HF_ZK_CHILD_MAX, "_c_%s-%s", uuid,
                 reads    ? "__READ__"
                 : writes ? "__WRIT__"
                          : "lock-");
}

/* ---- Folders ------------------------------------------------------------------------ */

/* Does ZooKeeper accept this UTF-8 sequence in a path?  It looks at 16 bits at a time, so
 * characters beyond those are surrogates to it, and refused. */
static bool allowed(const char *s, size_t length)
{
    const unsigned char *u = (const unsigned char *)s;
    uint32_t             code;

    if (length == 1)
        return u[0] > 0x1f && u[0] < 0x7f && u[0] != '/' && u[0] != '%';
    if (length == 2)
        return u[0] != 0xc2 || u[1] > 0x9f;
    if (length != 3)
        return false;
    code = (u[0] & 0x0fu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu);
    return code < 0xd800 || (code > 0xf8ff && code < 0xfff0);
}

/* Names with a meaning of their own in a path, and ZooKeeper's own node. */
static bool reserved(const char *name)
{
    return strcmp(name, "zookeeper") == 0 || strcmp(name, ".") == 0 ||
           strcmp(name, "..") == 0;
}

void hf_zk_folder(const char *name, char ret[HF_ZK_FOLDER_MAX])
{
    static const char hex[] = "0123456789ABCDEF";
    bool              escape = reserved(name); /* the first character */

    assert(strlen(name) <= HF_NAME_MAX);
    while (*name != '\0') {
        size_t length = hf_utf8_length(name);
        bool   plain = length > 0 && allowed(name, length) && !escape;
        if (length == 0) /* not UTF-8: escape it byte by byte */
            length = 1;
        for (; length > 0; length--, name++) {
            unsigned char c = (unsigned char)*name;
            if (plain) {
                *ret++ = *name;
            } else {
                *ret++ = '%';
                *ret++ = hex[c >> 4];
                *ret++ = hex[c & 0xf];
            }
        }
        escape = false;
    }
    *ret = '\0';
}

static int hex_digit(char c)
{
    return is_digit(c) ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* A folder whose name encodes differently is not ours. */
bool hf_zk_folder_parse(const char *folder, size_t size, char ret[256])
{
    char   name[HF_NAME_MAX + 1] = "", again[HF_ZK_FOLDER_MAX];
    size_t used = 0;

    for (size_t i = 0; i < size; i++) {
        char c = folder[i];
        if (c == '%') {
            int high = size - i > 2 ? hex_digit(folder[i + 1]) : -1;
            int low = size - i > 2 ? hex_digit(folder[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (used == HF_NAME_MAX)
            return false;
        name[used++] = c;
    }
    name[used] = '\0';
    if (hf_name_fault(name) != NULL)
        return false;
    hf_zk_folder(name, again);
    if (!is_text(folder, size, again))
        return false;
    memcpy(ret, name, used + 1);
    return true;
}

enum hf_zk_path hf_zk_path_parse(const char *root, const char *path, size_t size,
                                 char ret[256])
{
    size_t             length = strlen(root);
    struct hf_zk_child child;

    if (size <= length || memcmp(path, root, length) != 0 || path[length] != '/')
        return HF_ZK_PATH_FOREIGN;
    const char *folder = path + length + 1, *end = path + size;
    const char *slash = memchr(folder, '/', (size_t)(end - folder));
    if (!hf_zk_folder_parse(folder, (size_t)((slash != NULL ? slash : end) - folder),
                            ret))
        return HF_ZK_PATH_FOREIGN;
    if (slash == NULL)
        return HF_ZK_PATH_FOLDER;
    const char *name = slash + 1;
    if (memchr(name, '/', (size_t)(end - name)) != NULL)
        return HF_ZK_PATH_FOREIGN;
    hf_zk_child_parse(name, (size_t)(end - name), &child);
    return child.style == HF_ZK_FOREIGN ? HF_ZK_PATH_FOREIGN : HF_ZK_PATH_PLACE;
}
