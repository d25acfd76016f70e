/* postgres_server.c - anything as the results, errors, warnings and notifications of a
 * PostgreSQL server, by way of the real libpq.
 *
 * A piece is the result of a query, a row in each line, with tabs between the fields; \N
 * is NULL.  Lines that begin with one of these are something else:
 *
 *     =  the names of the columns          !  an error instead: its SQLSTATE, a tab, text
 *     @  a notification with that text     ~  a warning
 *     #  a message of any type, to the end of the piece.  Its length is right: for another
 *        one libpq would allocate gigabytes, and wait
 */
#include "fuzz/fuzz.h"
#include "fuzz/talk.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 40

static void configure(const struct talk *talk, struct hf_config *ret)
{
    static char            given[160];
    static struct hf_param param;

    snprintf(given, sizeof given, "postgres:///locks?host=%s&user=ana", talk->folder);
    setenv("PGPASSFILE", "/nonexistent", 1);
    param = (struct hf_param){ "host", talk->folder };
    *ret = (struct hf_config){ .url = given,
                               .given = given,
                               .scheme = "postgres",
                               .rest = "///locks",
                               .ttl_ms = ret->ttl_ms,
                               .seed = ret->seed,
                               .param = &param,
                               .params = 1 };
}

/* The first call has no letter before its length. */
static size_t call_size(const struct talk_conn *conn)
{
    size_t   head = conn->open ? 1 : 0;
    uint32_t length;

    if (conn->used < head + sizeof length)
        return 0;
    memcpy(&length, conn->call + head, sizeof length);
    size_t size = head + ntohl(length);
    return size <= conn->used ? size : 0;
}

/* ---- Messages ------------------------------------------------------------------------ */

struct message {
    uint8_t bytes[16384];
    size_t  size;
};

static void put(struct message *message, const void *bytes, size_t size)
{
    if (size > sizeof message->bytes - message->size)
        size = sizeof message->bytes - message->size;
    memcpy(message->bytes + message->size, bytes, size);
    message->size += size;
}

static void put_number(struct message *message, uint32_t number, size_t size)
{
    uint32_t big = htonl(number);

    put(message, (const uint8_t *)&big + 4 - size, size);
}

static void put_text(struct message *message, const uint8_t *text, size_t size)
{
    const uint8_t *nul = memchr(text, '\0', size);

    put(message, text, nul != NULL ? (size_t)(nul - text) : size);
    put(message, "", 1);
}

static void send_message(struct talk_conn *conn, char type, const struct message *body)
{
    struct message head = { .size = 0 };

    put(&head, &type, 1);
    put_number(&head, (uint32_t)body->size + 4, 4);
    talk_write(conn, head.bytes, head.size);
    talk_write(conn, body->bytes, body->size);
}

static void send_plain(struct talk_conn *conn, char type, const char *text, size_t size)
{
    struct message body = { .size = 0 };

    put(&body, text, size);
    send_message(conn, type, &body);
}

static void send_any(struct talk_conn *conn, const uint8_t *piece, size_t size)
{
    if (size > 0)
        send_plain(conn, (char)piece[0], (const char *)piece + 1, size - 1);
}

static void send_fault(struct talk_conn *conn, char type, const char *severity,
                       const uint8_t *text, size_t size)
{
    struct message body = { .size = 0 };
    const uint8_t *tab = memchr(text, '\t', size);
    size_t         state = tab != NULL ? (size_t)(tab - text) : size;
    size_t         rest = tab != NULL ? state + 1 : state;

    put(&body, "S", 1);
    put(&body, severity, strlen(severity) + 1);
    put(&body, "V", 1);
    put(&body, severity, strlen(severity) + 1);
    put(&body, "C", 1);
    put_text(&body, text, state);
    put(&body, "M", 1);
    put_text(&body, text + rest, size - rest);
    put(&body, "", 1);
    send_message(conn, type, &body);
}

static void send_notification(struct talk_conn *conn, const uint8_t *text, size_t size)
{
    struct message body = { .size = 0 };

    put_number(&body, 4242, 4);
    put(&body, "hf_channel", 11);
    put_text(&body, text, size);
    send_message(conn, 'A', &body);
}

/* The names of the columns, or as many as the row has. */
static size_t send_columns(struct talk_conn *conn, const uint8_t *names, size_t size,
                           bool given)
{
    struct message body = { .size = 2 };
    size_t         count = 0;

    for (bool more = true; more && count < COLUMNS; count++) {
        const uint8_t *tab = memchr(names, '\t', size);
        size_t         length = tab != NULL ? (size_t)(tab - names) : size;
        put_text(&body, names, given ? length : 0);
        put_number(&body, 0, 4);  /* table */
        put_number(&body, 0, 2);  /* its column */
        put_number(&body, 25, 4); /* text */
        put_number(&body, UINT16_MAX, 2);
        put_number(&body, UINT32_MAX, 4);
        put_number(&body, 0, 2);
        more = tab != NULL;
        names += length + more;
        size -= length + more;
    }
    body.bytes[0] = 0;
    body.bytes[1] = (uint8_t)count;
    send_message(conn, 'T', &body);
    return count;
}

static void send_row(struct talk_conn *conn, const uint8_t *text, size_t size,
                     size_t columns)
{
    struct message body = { .size = 0 };

    put_number(&body, (uint32_t)columns, 2);
    for (size_t i = 0; i < columns; i++) {
        const uint8_t *tab = memchr(text, '\t', size);
        size_t         length = tab != NULL ? (size_t)(tab - text) : size;
        if (length == 2 && memcmp(text, "\\N", 2) == 0) {
            put_number(&body, UINT32_MAX, 4);
        } else {
            put_number(&body, (uint32_t)length, 4);
            put(&body, text, length);
        }
        text += length + (tab != NULL);
        size -= length + (tab != NULL);
    }
    send_message(conn, 'D', &body);
}

/* ---- Answers ------------------------------------------------------------------------- */

/* A line that is no row.  False: an error ends the result. */
static bool send_other(struct talk_conn *conn, const uint8_t *line, size_t size,
                       size_t *columns)
{
    switch (line[0]) {
    case '=':
        *columns = send_columns(conn, line + 1, size - 1, true);
        return true;
    case '@':
        send_notification(conn, line + 1, size - 1);
        return true;
    case '~':
        send_fault(conn, 'N', "WARNING", line + 1, size - 1);
        return true;
    default:
        send_fault(conn, 'E', "ERROR", line + 1, size - 1);
        return false;
    }
}

static void send_result(struct talk_conn *conn, const uint8_t *piece, size_t size)
{
    size_t columns = 0;

    while (size > 0) {
        const uint8_t *end = memchr(piece, '\n', size);
        size_t         length = end != NULL ? (size_t)(end - piece) : size;
        if (piece[0] == '#') {
            send_any(conn, piece + 1, size - 1);
            return;
        }
        if (length > 0 && strchr("=@~!", piece[0]) != NULL && piece[0] != '\0') {
            if (!send_other(conn, piece, length, &columns))
                return;
        } else {
            if (columns == 0)
                columns = send_columns(conn, piece, length, false);
            send_row(conn, piece, length, columns);
        }
        piece += length + (end != NULL);
        size -= length + (end != NULL);
    }
    send_plain(conn, 'C', "SELECT 1", 9);
}

static void greet(struct talk_conn *conn)
{
    send_plain(conn, 'R', "\0\0\0\0", 4); /* no password */
    send_plain(conn, 'S', "server_version\00015.4", 20);
    send_plain(conn, 'S', "server_encoding\0UTF8", 21);
    send_plain(conn, 'S', "client_encoding\0UTF8", 21);
    send_plain(conn, 'S', "standard_conforming_strings\0on", 31);
    send_plain(conn, 'K', "\0\0\x10\x92\0\0\0\1", 8);
    send_plain(conn, 'Z', "I", 1);
}

/* A query by itself, or the parts of one up to its sync. */
static void answer(struct talk *talk, struct talk_conn *conn, size_t size)
{
    const uint8_t *piece = (const uint8_t *)"";
    size_t         length = 0;

    (void)size;
    if (!conn->open) {
        greet(conn);
        return;
    }
    switch (conn->call[0]) {
    case 'P':
        send_plain(conn, '1', "", 0);
        break;
    case 'B':
        send_plain(conn, '2', "", 0);
        break;
    case 'E':
    case 'Q':
        if (!talk_piece(talk, &piece, &length))
            return;
        send_result(conn, piece, length);
        if (conn->call[0] == 'Q')
            send_plain(conn, 'Z', "I", 1);
        break;
    case 'S':
        send_plain(conn, 'Z', "I", 1);
        break;
    }
}

static void tell(struct talk_conn *conn, const uint8_t *piece, size_t size)
{
    if (size > 0 && piece[0] == '#')
        send_any(conn, piece + 1, size - 1);
    else
        send_notification(conn, piece, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct talk talk = {
        .configure = configure, .call_size = call_size, .answer = answer, .tell = tell
    };

    talk_run(&talk, bytes, size);
    return 0;
}

#ifndef HF_FUZZER
int main(int argc, char **argv)
{
    return hf_fuzz_run(argc, argv, __FILE__, 1000);
}
#endif
