/* conn.c - the connection, and the calls on it; see wire.h.
 *
 * Answers come in the order of the calls.  A callback may end the connection, so after each
 * of them we check whether it is still the same one.  Packets are numbered: during the
 * login both sides count on, and each call begins at 0. */
#include "base/grow.h"
#include "holdfast.h"
#include "store/mariadb/wire/wire.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_LEAST 16384        /* bytes at once */
#define ROUNDS     16           /* in one run: others wait, too */
#define ROOM_KEPT  (256 * 1024) /* a larger buffer is freed once it is empty */
#define LOGIN_MAX  16384        /* of a packet before the login; so TLS is recognised */

#define COM_QUIT  1
#define COM_QUERY 3

/* ---- Sending ---------------------------------------------------------------------- */

/* `size` bytes behind a head.  The next flush breaks the connection if there is no
 * memory, so callers need no check. */
static unsigned char *append_packet(struct hf_my_conn *conn, size_t size,
                                    unsigned char number)
{
    struct hf_stream *stream = &conn->dial.stream;
    unsigned char    *at = NULL;

    assert(size <= HF_MY_PACKET_MAX);
    if (stream->state != HF_STREAM_BROKEN)
        at = hf_stream_append(stream, HF_MY_HEAD + size);
    if (at == NULL && stream->state != HF_STREAM_BROKEN) {
        snprintf(stream->errmsg, sizeof stream->errmsg, "out of memory");
        stream->state = HF_STREAM_BROKEN;
    }
    if (at == NULL)
        return NULL;
    at = hf_my_put(at, size, 3);
    *at++ = number;
    return at;
}

unsigned char *hf_my_packet(struct hf_my_conn *conn, size_t size)
{
    assert(conn->stage != HF_MY_IN);
    return append_packet(conn, size, conn->number++);
}

void hf_my_send(struct hf_my_conn *conn, struct hf_my_call *call,
                const struct hf_my_query *query, hf_my_on_reply *on_reply, void *data)
{
    assert(conn->dial.phase >= HF_DIAL_GREETING && conn->stage == HF_MY_IN);
    assert(!query->failed && !call->flying);
    assert((conn->first == NULL) == (conn->last == NULL));
    *call = (struct hf_my_call){
        .sent = *conn->dial.now, .on_reply = on_reply, .data = data, .flying = true
    };
    if (conn->first == NULL)
        conn->first = call;
    else
        conn->last->next = call;
    conn->last = call;
    unsigned char *at = append_packet(conn, 1 + query->used, 0);
    if (at != NULL) {
        *at++ = COM_QUERY;
        memcpy(at, query->text, query->used);
    }
}

/* ---- Begin and end ---------------------------------------------------------------- */

void hf_my_conn_greet(struct hf_dial *dial)
{
    struct hf_my_conn *conn = (struct hf_my_conn *)dial;

    assert(dial->tls == NULL && conn->login != NULL && conn->first == NULL);
    conn->stage = HF_MY_GREETING;
    conn->used = 0;
    conn->number = 0;
    conn->steps = 0;
    conn->key_wanted = false;
    hf_my_reply_clear(&conn->reply);
    hf_dial_flush(dial);
}

static void answer_call(struct hf_my_conn *conn, struct hf_my_call *call,
                        const struct hf_my_reply *reply)
{
    assert(call->flying);
    call->next = NULL;
    call->flying = false;
    if (call->on_reply != NULL)
        call->on_reply(conn, call->data, reply);
}

/* The reply may be lent to a callback right now: it stays until the next greeting. */
void hf_my_conn_over(struct hf_dial *dial)
{
    struct hf_my_conn *conn = (struct hf_my_conn *)dial;
    struct hf_my_call *call = conn->first;

    assert(dial->phase == HF_DIAL_RESTING);
    conn->stage = HF_MY_GREETING;
    conn->used = 0;
    conn->first = conn->last = NULL;
    while (call != NULL) {
        struct hf_my_call *next = call->next;
        answer_call(conn, call, NULL);
        call = next;
    }
    assert(conn->first == NULL); /* callbacks could send nothing new */
}

void hf_my_conn_finish(struct hf_my_conn *conn)
{
    if (conn->dial.phase >= HF_DIAL_GREETING && conn->stage == HF_MY_IN) {
        unsigned char *at = append_packet(conn, 1, 0);
        if (at != NULL)
            *at = COM_QUIT; /* else the server counts an aborted connection */
    }
    hf_dial_close(&conn->dial);
    hf_my_reply_finish(&conn->reply);
    free(conn->in);
    conn->in = NULL;
    conn->room = 0;
}

/* ---- Packets ---------------------------------------------------------------------- */

/* The server may say why it ends the connection, in an error that answers nothing. */
static void end_with(struct hf_my_conn *conn, const void *packet, size_t size)
{
    struct hf_my_reply error = { .error = 0 };
    char               why[HF_ERRMSG_MAX];

    if (hf_my_reply_take_error(&error, packet, size))
        snprintf(why, sizeof why, "ends the connection: %.180s (error %u)", error.message,
                 error.error);
    else
        snprintf(why, sizeof why, "sends an answer that nobody asked for");
    hf_dial_break(&conn->dial, why);
}

static void take_answer(struct hf_my_conn *conn, const void *packet, size_t size)
{
    struct hf_my_call *call = conn->first;

    if (call == NULL) {
        end_with(conn, packet, size);
        return;
    }
    int r = hf_my_reply_take(&conn->reply, packet, size);
    if (r < 0) {
        hf_dial_break(&conn->dial, r == HF_ENOMEM
                                       ? "sent more than there is memory for"
                                       : "sends an answer that makes no sense");
    } else if (r > 0) {
        conn->number = 1;
        conn->first = call->next;
        if (conn->first == NULL)
            conn->last = NULL;
        answer_call(conn, call, &conn->reply);
        hf_my_reply_clear(&conn->reply);
    }
}

static void take_packet(struct hf_my_conn *conn, const void *packet, size_t size)
{
    conn->number++;
    if (conn->stage == HF_MY_IN) {
        take_answer(conn, packet, size);
        return;
    }
    hf_my_login_take(conn, packet, size);
    if (conn->dial.phase < HF_DIAL_GREETING)
        return;
    if (conn->stage == HF_MY_IN) {
        conn->number = 1;
        conn->on_login(conn);
    } else {
        hf_dial_flush(&conn->dial);
    }
}

/* The packet that begins here: 1 with its size; 0: it is not complete; -1: it is
 * wrong, and the connection is over.  A server that ends a connection may not have read
 * our last call, and so number its error differently. */
static int find_packet(struct hf_my_conn *conn, size_t at, size_t *size)
{
    struct hf_my_reader head = hf_my_reader_on(conn->in + at, conn->used - at);
    size_t              length = (size_t)hf_my_get(&head, 3);
    unsigned char       number = (unsigned char)hf_my_get(&head, 1);
    unsigned char       first = (unsigned char)hf_my_get(&head, 1);
    bool                numbered = number == conn->number;
    bool error = first == 0xff && length <= 1024 && conn->stage == HF_MY_IN;

    if (head.bad && !(length == 0 && conn->used - at == HF_MY_HEAD))
        return 0;
    size_t most = conn->stage == HF_MY_IN ? HF_MY_PACKET_MAX : LOGIN_MAX;
    if (length == 0 || length > most || (!numbered && !error)) {
        hf_dial_break(&conn->dial, length > most && numbered && most != LOGIN_MAX
                                       ? "sends a packet of more than 16 MB"
                                       : "does not speak MariaDB's protocol");
        return -1;
    }
    *size = length;
    if (conn->used - at - HF_MY_HEAD < length)
        return 0;
    if (!numbered) {
        end_with(conn, conn->in + at + HF_MY_HEAD, length);
        return -1;
    }
    return 1;
}

/* Handle every complete packet.  Returns how many bytes the next one needs; 0: the
 * connection is over. */
static size_t take_packets(struct hf_my_conn *conn)
{
    struct hf_dial *dial = &conn->dial;
    unsigned        opened = dial->opened;
    size_t          at = 0, size = 0;
    int             found;

    while ((found = find_packet(conn, at, &size)) > 0) {
        const unsigned char *packet = conn->in + at + HF_MY_HEAD;
        at += HF_MY_HEAD + size;
        size = 0;
        take_packet(conn, packet, at - (size_t)(packet - conn->in));
        if (dial->phase < HF_DIAL_GREETING || dial->opened != opened)
            return 0;
        if (conn->stage == HF_MY_SECURING)
            break;
    }
    if (found < 0)
        return 0;
    assert(at <= conn->used);
    conn->used -= at;
    memmove(conn->in, conn->in + at, conn->used);
    if (conn->stage == HF_MY_SECURING && conn->used > 0) {
        hf_dial_break(dial, "sends bytes ahead of TLS"); /* whose are they? */
        return 0;
    }
    if (conn->used == 0 && conn->room > ROOM_KEPT) {
        free(conn->in);
        conn->in = NULL;
        conn->room = 0;
    }
    return HF_MY_HEAD + size;
}

void hf_my_conn_read(struct hf_dial *dial)
{
    struct hf_my_conn *conn = (struct hf_my_conn *)dial;
    size_t             need = 0;

    dial->more = false;
    for (int round = 0; round < ROUNDS; round++) {
        if (conn->stage == HF_MY_SECURING && !hf_my_login_secure(conn))
            return;
        if (need < conn->used + READ_LEAST)
            need = conn->used + READ_LEAST;
        unsigned char *in = hf_grow(conn->in, &conn->room, need, 1);
        if (in == NULL) {
            hf_dial_break(dial, "sent more than there is memory for");
            return;
        }
        conn->in = in;
        size_t room = conn->room - conn->used;
        size_t n = hf_dial_read(dial, conn->in + conn->used, room);
        if (n == 0)
            return;
        conn->used += n;
        bool drained = n < room && dial->stream.ssl == NULL;
        need = take_packets(conn);
        if (need == 0 || (drained && conn->stage != HF_MY_SECURING))
            return;
    }
    dial->more = true;
}
