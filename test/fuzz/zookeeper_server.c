/* zookeeper_server.c - anything as the answers and events of a ZooKeeper server.  The
 * first piece is the body of the greeting.  Any other answers a call: a byte, the error,
 * then the body; or a word of four letters, and is all of the answer.  Unasked, a piece
 * is the body of an event. */
#include "fuzz/fuzz.h"
#include "fuzz/talk.h"
#include "store/zookeeper/wire/wire.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define CLOSE (-11)

static void configure(const struct talk *talk, struct hf_config *ret)
{
    static char rest[32];

    snprintf(rest, sizeof rest, "//127.0.0.1:%u", talk->port);
    ret->url = ret->given = ret->rest = rest;
    ret->scheme = "zk";
}

static size_t call_size(const struct talk_conn *conn)
{
    long size = hf_zk_frame_size(conn->call, conn->used);

    if (size == -2) /* a word such as "srvr", for DIAGNOSE */
        return 4;
    return size >= 0 ? (size_t)size + 4 : 0;
}

static void send_frame(struct talk_conn *conn, int32_t xid, int64_t zxid, int32_t error,
                       const uint8_t *body, size_t size)
{
    struct hf_zk_writer writer = { 0 };

    hf_zk_put_int(&writer, (int32_t)(16 + size));
    hf_zk_put_int(&writer, xid);
    hf_zk_put_long(&writer, zxid);
    hf_zk_put_int(&writer, error);
    assert(!writer.failed);
    talk_write(conn, writer.bytes, writer.used);
    talk_write(conn, body, size);
    hf_zk_writer_finish(&writer);
}

static void tell(struct talk_conn *conn, const uint8_t *piece, size_t size)
{
    send_frame(conn, HF_ZK_XID_EVENT, -1, 0, piece, size);
}

static void greet(struct talk_conn *conn, const uint8_t *piece, size_t size)
{
    struct hf_zk_writer writer = { 0 };

    hf_zk_put_int(&writer, (int32_t)size);
    assert(!writer.failed);
    talk_write(conn, writer.bytes, writer.used);
    talk_write(conn, piece, size);
    hf_zk_writer_finish(&writer);
}

/* Numbers of changes rise with the input. */
static void answer(struct talk *talk, struct talk_conn *conn, size_t size)
{
    struct hf_zk_reader call = hf_zk_reader_on(conn->call + 4, size - 4);
    int32_t             xid = hf_zk_get_int(&call), type = hf_zk_get_int(&call);
    int64_t             zxid = 1000000 - (talk->end - talk->at);
    const uint8_t      *piece;
    size_t              length;

    if (conn->open && (xid == HF_ZK_XID_PING || xid == HF_ZK_XID_AUTH || type == CLOSE)) {
        send_frame(conn, xid, zxid, 0, NULL, 0);
        return;
    }
    if (!talk_piece(talk, &piece, &length))
        return;
    if (size == 4) {
        (void)!send(conn->fd, piece, length, MSG_DONTWAIT | MSG_NOSIGNAL);
        shutdown(conn->fd, SHUT_WR);
    } else if (!conn->open)
        greet(conn, piece, length);
    else if (length > 0)
        send_frame(conn, xid, zxid, (int8_t)piece[0], piece + 1, length - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct talk talk = { .tcp = true,
                                .configure = configure,
                                .call_size = call_size,
                                .answer = answer,
                                .tell = tell };

    talk_run(&talk, bytes, size);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_run(argc, argv, __FILE__, 1000);
}
#endif
