/* zookeeper_reply.c - anything as what a server sends. */
#include "fuzz/fuzz.h"
#include "store/zookeeper/wire/wire.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void check_text(struct hf_zk_reader *reader)
{
    size_t            from = reader->at;
    struct hf_zk_text text = hf_zk_get_text(reader);

    if (text.size > 0) {
        assert(!reader->bad && reader->at == from + 4 + text.size);
        assert((const unsigned char *)text.bytes == reader->bytes + from + 4);
    } else {
        assert(text.bytes[0] == '\0');
    }
}

/* A stat that is read and written again is the same bytes. */
static void check_stat(struct hf_zk_reader *reader)
{
    const unsigned char *from = reader->bytes + reader->at;
    struct hf_zk_stat    stat;
    struct hf_zk_writer  writer = { 0 };

    hf_zk_get_stat(reader, &stat);
    if (reader->bad) {
        assert(stat.czxid == 0 && stat.owner == 0 && stat.children == 0);
        return;
    }
    hf_zk_put_long(&writer, stat.czxid);
    hf_zk_put_long(&writer, stat.mzxid);
    hf_zk_put_long(&writer, stat.ctime);
    hf_zk_put_long(&writer, stat.mtime);
    hf_zk_put_int(&writer, stat.version);
    hf_zk_put_int(&writer, stat.cversion);
    hf_zk_put_int(&writer, stat.aversion);
    hf_zk_put_long(&writer, stat.owner);
    hf_zk_put_int(&writer, stat.length);
    hf_zk_put_int(&writer, stat.children);
    hf_zk_put_long(&writer, stat.pzxid);
    assert(writer.failed || (writer.used == 68 && memcmp(writer.bytes, from, 68) == 0));
    hf_zk_writer_finish(&writer);
}

static void check_texts(struct hf_zk_reader *reader)
{
    size_t count = hf_zk_get_count(reader, 4);

    assert(count <= (reader->size - reader->at) / 4);
    for (size_t i = 0; i < count && !reader->bad; i++)
        check_text(reader);
}

static void check_connect(struct hf_zk_reader *reader)
{
    hf_zk_get_int(reader);
    hf_zk_get_int(reader);
    hf_zk_get_long(reader);
    check_text(reader);
    if (reader->at < reader->size)
        assert(hf_zk_get_byte(reader) < 256);
}

/* Every part begins with its own header; the last one says that it is. */
static void check_multi(struct hf_zk_reader *reader)
{
    for (bool done = false; !done && !reader->bad;) {
        int32_t type = hf_zk_get_int(reader);
        done = hf_zk_get_byte(reader) != 0;
        hf_zk_get_int(reader);
        if (done)
            break;
        if (type == HF_ZK_CREATE || type == HF_ZK_CREATE2)
            check_text(reader);
        if (type == HF_ZK_CREATE2 || type == HF_ZK_SET_DATA)
            check_stat(reader);
        if (type == HF_ZK_ERROR)
            hf_zk_get_int(reader);
    }
}

/* The xid tells nothing of the kind here: its low bits choose one. */
static void check_reply(struct hf_zk_reader *reader)
{
    int32_t xid = hf_zk_get_int(reader);

    hf_zk_get_long(reader);
    int32_t error = hf_zk_get_int(reader);
    if (xid == HF_ZK_XID_EVENT) {
        hf_zk_get_int(reader);
        hf_zk_get_int(reader);
        check_text(reader);
    } else if (error == 0) {
        switch (xid & 3) {
        case 0:
            check_texts(reader);
            check_stat(reader);
            break;
        case 1:
            check_text(reader);
            check_stat(reader);
            break;
        case 2:
            check_multi(reader);
            break;
        default:
            check_stat(reader);
        }
    }
}

static void check_frame(const uint8_t *bytes, size_t size,
                        void (*check)(struct hf_zk_reader *reader))
{
    uint8_t *exact = malloc(size > 0 ? size : 1);

    if (exact == NULL)
        abort();
    memcpy(exact, bytes, size);
    struct hf_zk_reader reader = hf_zk_reader_on(exact, size);
    check(&reader);
    assert(reader.at <= reader.size);

    /* Once past the end, there is nothing any more. */
    if (reader.bad || reader.at == reader.size) {
        size_t at = reader.at;
        assert(hf_zk_get_long(&reader) == 0 && hf_zk_get_count(&reader, 1) == 0);
        assert(hf_zk_get_text(&reader).size == 0 && reader.bad && reader.at == at);
    }
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    long length;
    bool first = true;

    while ((length = hf_zk_frame_size(bytes, size)) >= 0) {
        assert((size_t)length + 4 <= size);
        check_frame(bytes + 4, (size_t)length, first ? check_connect : check_reply);
        check_frame(bytes + 4, (size_t)length, check_multi);
        first = false;
        bytes += length + 4;
        size -= (size_t)length + 4;
    }
    assert(length == -1 || length == -2);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_main(argc, argv, __FILE__);
}
#endif
