/* mariadb_server.c - anything as the greetings, results and errors of a MariaDB server.
 *
 * A piece is the result of a call, a row in each line, with tabs between the fields; \N is NULL.
 * Lines that begin with one of these are something else:
 *
 *     =  another result follows           !  an error: its number, a tab, SQLSTATE, a tab, text
 *     #  a packet of any bytes, to the end of the piece
 *     %  any bytes at all, to the end of the piece
 *
 * A piece that begins with # or % also replaces the greeting of a new connection, or the
 * answer to a login, if it is the next one then.
 */
#include "fuzz/fuzz.h"
#include "fuzz/talk.h"

#include "store/mariadb/wire/wire.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 40

static void configure(const struct talk *talk, struct hf_config *ret)
{
    static char            given[160], path[96];
    static struct hf_param param;

    snprintf(path, sizeof path, "%s/%s", talk->folder, TALK_FILE);
    snprintf(given, sizeof given, "mariadb://ana@/locks?socket=%s", path);
    param = (struct hf_param){ "socket", path };
    *ret = (struct hf_config){ .url = given,
                               .given = given,
                               .scheme = "mariadb",
                               .rest = "///locks",
                               .user = "ana",
                               .ttl_ms = ret->ttl_ms,
                               .seed = ret->seed,
                               .param = &param,
                               .params = 1 };
}

static size_t call_size(const struct talk_conn *conn)
{
    struct hf_my_reader reader = hf_my_reader_on(conn->call, conn->used);
    size_t              size = HF_MY_HEAD + (size_t)hf_my_get(&reader, 3);

    return !reader.bad && size <= conn->used ? size : 0;
}

/* ---- Packets ------------------------------------------------------------------------- */

static uint8_t number; /* of the next packet */

static void send_packet(struct talk_conn *conn, const void *bytes, size_t size)
{
    unsigned char head[HF_MY_HEAD];

    hf_my_put(head, size, 3);
    head[3] = number++;
    talk_write(conn, head, sizeof head);
    talk_write(conn, bytes, size);
}

#define SEND(conn, text) send_packet(conn, text, sizeof(text) - 1)

/* "1213\t40001\ttext" */
static void send_fault(struct talk_conn *conn, const uint8_t *line, size_t size)
{
    unsigned char  packet[600], *at = packet;
    char           text[512];
    size_t         length = size < sizeof text - 1 ? size : sizeof text - 1;
    const uint8_t *tab = memchr(line, '\t', length);

    memcpy(text, line, length);
    text[length] = '\0';
    *at++ = 0xff;
    at = hf_my_put(at, (uint64_t)strtoul(text, NULL, 10), 2);
    const char *rest = tab != NULL ? text + (tab - line) + 1 : "";
    if (strlen(rest) >= 6 && rest[5] == '\t') {
        *at++ = '#';
        memcpy(at, rest, 5);
        at += 5;
        rest += 6;
    }
    memcpy(at, rest, strlen(rest));
    send_packet(conn, packet, (size_t)(at - packet) + strlen(rest));
}

static size_t send_columns(struct talk_conn *conn, const uint8_t *line, size_t size)
{
    size_t count = 1;

    for (size_t i = 0; i < size; i++)
        count += line[i] == '\t' && count < COLUMNS;
    unsigned char head = (unsigned char)count;
    send_packet(conn, &head, 1);
    for (size_t i = 0; i < count; i++)
        SEND(conn, "\3def\0\0\0\1c\0\x0c\x3f\0\1\0\0\0\xfd\0\0\0\0\0");
    SEND(conn, "\xfe\0\0\2\0");
    return count;
}

static void send_row(struct talk_conn *conn, const uint8_t *text, size_t size,
                     size_t columns)
{
    unsigned char row[32768], *at = row;

    for (size_t i = 0; i < columns; i++) {
        const uint8_t *tab = size > 0 ? memchr(text, '\t', size) : NULL;
        size_t         length = tab != NULL ? (size_t)(tab - text) : size;
        size_t         most = (size_t)(row + sizeof row - at) - COLUMNS * 4;
        most = most < 8192 ? most : 8192;
        if (length == 2 && memcmp(text, "\\N", 2) == 0) {
            *at++ = 0xfb;
        } else {
            size_t take = length < most ? length : most;
            *at++ = 0xfc;
            at = hf_my_put(at, take, 2);
            memcpy(at, text, take);
            at += take;
        }
        text += length + (tab != NULL);
        size -= length + (tab != NULL);
    }
    send_packet(conn, row, (size_t)(at - row));
}

/* ---- Answers ------------------------------------------------------------------------- */

/* # and %.  False: it is something else. */
static bool send_any(struct talk_conn *conn, const uint8_t *piece, size_t size)
{
    if (size == 0 || (piece[0] != '#' && piece[0] != '%'))
        return false;
    if (piece[0] == '#')
        send_packet(conn, piece + 1, size - 1);
    else
        talk_write(conn, piece + 1, size - 1);
    return true;
}

static void send_result(struct talk_conn *conn, const uint8_t *piece, size_t size)
{
    size_t columns = 0;

    while (size > 0) {
        const uint8_t *end = memchr(piece, '\n', size);
        size_t         length = end != NULL ? (size_t)(end - piece) : size;
        if (send_any(conn, piece, size))
            return;
        if (piece[0] == '!') {
            send_fault(conn, piece + 1, length - 1);
            return;
        }
        if (piece[0] == '=') {
            if (columns > 0)
                SEND(conn, "\xfe\0\0\x0a\0");
            columns = 0;
        } else {
            if (columns == 0)
                columns = send_columns(conn, piece, length);
            send_row(conn, piece, length, columns);
        }
        piece += length + (end != NULL);
        size -= length + (end != NULL);
    }
    if (columns > 0)
        SEND(conn, "\xfe\0\0\x0a\0");
    SEND(conn, "\0\0\0\2\0\0\0");
}

/* The next piece, if it is # or %. */
static bool send_next_any(struct talk *talk, struct talk_conn *conn)
{
    const uint8_t *piece;
    size_t         length;

    return talk->at < talk->end && (*talk->at == '#' || *talk->at == '%') &&
           talk_piece(talk, &piece, &length) && send_any(conn, piece, length);
}

static void greet(struct talk *talk, struct talk_conn *conn)
{
    static const char greeting[] =
        "\x0a"
        "5.5.5-10.11.6-MariaDB\0\7\0\0\0abcdefgh\0\xfe\xf7\x2d\2\0\xff\x81\x15"
        "\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0mysql_native_password";

    number = 0;
    if (!send_next_any(talk, conn))
        send_packet(conn, greeting, sizeof greeting);
}

static void answer(struct talk *talk, struct talk_conn *conn, size_t size)
{
    const uint8_t *piece;
    size_t         length;

    number = (uint8_t)(conn->call[3] + 1);
    if (!conn->open || number > 1) {
        if (!send_next_any(talk, conn))
            SEND(conn, "\0\0\0\2\0\0\0");
    } else if (size > HF_MY_HEAD && conn->call[HF_MY_HEAD] == 3 &&
               talk_piece(talk, &piece, &length)) {
        send_result(conn, piece, length);
    }
}

static void tell(struct talk_conn *conn, const uint8_t *piece, size_t size)
{
    number = 1;
    send_result(conn, piece, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct talk talk = { .configure = configure,
                                .greet = greet,
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
