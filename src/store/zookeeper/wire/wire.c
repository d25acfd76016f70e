/* wire.c - see wire.h. */
#include "store/zookeeper/wire/wire.h"

#include "base/grow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers ------------------------------------------------------------------------ */

static void store_big(unsigned char *to, uint64_t value, size_t size)
{
    for (size_t i = size; i-- > 0; value >>= 8)
        to[i] = (unsigned char)value;
}

static uint64_t load_big(const unsigned char *from, size_t size)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++)
        value = value << 8 | from[i];
    return value;
}

/* ---- Writing ------------------------------------------------------------------------ */

void hf_zk_writer_finish(struct hf_zk_writer *writer)
{
    free(writer->bytes);
    *writer = (struct hf_zk_writer){ 0 };
}

/* Room for `size` more bytes at the end, or NULL. */
static unsigned char *extend_writer(struct hf_zk_writer *writer, size_t size)
{
    unsigned char *bytes =
        writer->failed ? NULL
                       : hf_grow(writer->bytes, &writer->room, writer->used + size, 1);

    assert(writer->used <= writer->room || bytes == NULL);
    if (bytes == NULL) {
        writer->failed = true;
        return NULL;
    }
    writer->bytes = bytes;
    writer->used += size;
    return bytes + writer->used - size;
}

static void put_big(struct hf_zk_writer *writer, uint64_t value, size_t size)
{
    unsigned char *to = extend_writer(writer, size);

    if (to != NULL)
        store_big(to, value, size);
}

size_t hf_zk_frame_begin(struct hf_zk_writer *writer)
{
    size_t begin = writer->used;

    put_big(writer, 0, 4);
    return begin;
}

void hf_zk_frame_end(struct hf_zk_writer *writer, size_t begin)
{
    if (writer->failed)
        return;
    assert(begin <= writer->used && writer->used - begin >= 4);
    size_t size = writer->used - begin - 4;
    if (size > HF_ZK_FRAME_MAX)
        writer->failed = true;
    else
        store_big(writer->bytes + begin, size, 4);
}

void hf_zk_put_byte(struct hf_zk_writer *writer, unsigned value)
{
    put_big(writer, value, 1);
}

void hf_zk_put_int(struct hf_zk_writer *writer, int32_t value)
{
    put_big(writer, (uint32_t)value, 4);
}

void hf_zk_put_long(struct hf_zk_writer *writer, int64_t value)
{
    put_big(writer, (uint64_t)value, 8);
}

void hf_zk_put_string(struct hf_zk_writer *writer, const char *text)
{
    hf_zk_put_bytes(writer, text, text == NULL ? 0 : strlen(text));
}

void hf_zk_put_bytes(struct hf_zk_writer *writer, const void *bytes, size_t size)
{
    if (size > HF_ZK_FRAME_MAX) {
        writer->failed = true;
        return;
    }
    hf_zk_put_int(writer, bytes == NULL ? -1 : (int32_t)size);
    unsigned char *to = size > 0 ? extend_writer(writer, size) : NULL;
    if (to != NULL)
        memcpy(to, bytes, size);
}

/* ---- Reading ------------------------------------------------------------------------ */

long hf_zk_frame_size(const void *bytes, size_t size)
{
    if (size < 4)
        return -1;
    uint64_t length = load_big(bytes, 4);
    if (length > HF_ZK_FRAME_MAX) /* negative lengths too */
        return -2;
    return size - 4 < length ? -1 : (long)length;
}

struct hf_zk_reader hf_zk_reader_on(const void *bytes, size_t size)
{
    return (struct hf_zk_reader){ .bytes = bytes, .size = size };
}

/* The next `size` bytes, or NULL. */
static const unsigned char *take_bytes(struct hf_zk_reader *reader, size_t size)
{
    assert(reader->at <= reader->size);
    if (reader->bad || size > reader->size - reader->at) {
        reader->bad = true;
        return NULL;
    }
    const unsigned char *from = reader->bytes + reader->at;
    reader->at += size;
    return from;
}

static uint64_t get_big(struct hf_zk_reader *reader, size_t size)
{
    const unsigned char *from = take_bytes(reader, size);

    return from == NULL ? 0 : load_big(from, size);
}

unsigned hf_zk_get_byte(struct hf_zk_reader *reader)
{
    return (unsigned)get_big(reader, 1);
}

int32_t hf_zk_get_int(struct hf_zk_reader *reader)
{
    return (int32_t)(uint32_t)get_big(reader, 4);
}

int64_t hf_zk_get_long(struct hf_zk_reader *reader)
{
    return (int64_t)get_big(reader, 8);
}

/* A length or count: -1 is none. */
static size_t get_length(struct hf_zk_reader *reader)
{
    int32_t length = hf_zk_get_int(reader);

    if (length < -1)
        reader->bad = true;
    return length < 0 ? 0 : (size_t)length;
}

struct hf_zk_text hf_zk_get_text(struct hf_zk_reader *reader)
{
    size_t               size = get_length(reader);
    const unsigned char *from = take_bytes(reader, size);

    if (from == NULL || size == 0)
        return (struct hf_zk_text){ .bytes = "", .size = 0 };
    return (struct hf_zk_text){ .bytes = (const char *)from, .size = size };
}

void hf_zk_get_stat(struct hf_zk_reader *reader, struct hf_zk_stat *ret)
{
    ret->czxid = hf_zk_get_long(reader);
    ret->mzxid = hf_zk_get_long(reader);
    ret->ctime = hf_zk_get_long(reader);
    ret->mtime = hf_zk_get_long(reader);
    ret->version = hf_zk_get_int(reader);
    ret->cversion = hf_zk_get_int(reader);
    ret->aversion = hf_zk_get_int(reader);
    ret->owner = hf_zk_get_long(reader);
    ret->length = hf_zk_get_int(reader);
    ret->children = hf_zk_get_int(reader);
    ret->pzxid = hf_zk_get_long(reader);
    if (reader->bad) /* do not return half of it */
        *ret = (struct hf_zk_stat){ 0 };
}

size_t hf_zk_get_count(struct hf_zk_reader *reader, size_t least)
{
    assert(least > 0);
    size_t count = get_length(reader);
    if (count > (reader->size - reader->at) / least)
        reader->bad = true;
    return reader->bad ? 0 : count;
}
