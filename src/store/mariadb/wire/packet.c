/* packet.c - the numbers and texts in packets; see wire.h. */
#include "store/mariadb/wire/wire.h"

#include <assert.h>
#include <string.h>

struct hf_my_reader hf_my_reader_on(const void *packet, size_t size)
{
    const unsigned char *at = packet;

    return (struct hf_my_reader){ .at = at, .end = at + size };
}

size_t hf_my_left(const struct hf_my_reader *reader)
{
    return reader->bad ? 0 : (size_t)(reader->end - reader->at);
}

struct hf_my_text hf_my_get_bytes(struct hf_my_reader *reader, size_t size)
{
    struct hf_my_text text = { .data = "" };

    if (size > hf_my_left(reader))
        reader->bad = true;
    if (reader->bad)
        return text;
    text = (struct hf_my_text){ .data = (const char *)reader->at, .size = size };
    reader->at += size;
    return text;
}

uint64_t hf_my_get(struct hf_my_reader *reader, int bytes)
{
    struct hf_my_text text = hf_my_get_bytes(reader, (size_t)bytes);
    uint64_t          number = 0;

    assert(bytes > 0 && bytes <= 8);
    for (size_t i = text.size; i > 0; i--)
        number = number << 8 | (unsigned char)text.data[i - 1];
    return number;
}

/* 0xfb is NULL, and 0xff begins no number: both are bad here. */
uint64_t hf_my_get_length(struct hf_my_reader *reader)
{
    uint64_t first = hf_my_get(reader, 1);

    switch (first) {
    case 0xfc:
        return hf_my_get(reader, 2);
    case 0xfd:
        return hf_my_get(reader, 3);
    case 0xfe:
        return hf_my_get(reader, 8);
    case 0xfb:
    case 0xff:
        reader->bad = true;
        return 0;
    default:
        return first;
    }
}

struct hf_my_text hf_my_get_field(struct hf_my_reader *reader)
{
    if (hf_my_left(reader) > 0 && *reader->at == 0xfb) {
        reader->at++;
        return (struct hf_my_text){ .data = NULL };
    }
    uint64_t size = hf_my_get_length(reader);
    if (size > hf_my_left(reader))
        reader->bad = true;
    return hf_my_get_bytes(reader, (size_t)size);
}

struct hf_my_text hf_my_get_string(struct hf_my_reader *reader)
{
    size_t               left = hf_my_left(reader);
    const unsigned char *nul = left > 0 ? memchr(reader->at, '\0', left) : NULL;

    if (nul == NULL) {
        reader->bad = true;
        return (struct hf_my_text){ .data = "" };
    }
    struct hf_my_text text = hf_my_get_bytes(reader, (size_t)(nul - reader->at));
    reader->at++;
    return text;
}

unsigned char *hf_my_put(unsigned char *at, uint64_t number, int bytes)
{
    assert(bytes > 0 && bytes <= 8);
    for (; bytes > 0; bytes--, number >>= 8)
        *at++ = (unsigned char)number;
    return at;
}
