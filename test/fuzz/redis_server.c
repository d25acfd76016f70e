/* redis_server.c - anything as the replies and messages of a Redis server.  A piece is a
 * reply as it is on the wire. */
#include "fuzz/fuzz.h"
#include "fuzz/talk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void configure(const struct talk *talk, struct hf_config *ret)
{
    static char rest[128];

    snprintf(rest, sizeof rest, "%s/%s", talk->folder, TALK_FILE);
    ret->url = ret->given = ret->rest = rest;
    ret->scheme = "redis+unix";
}

/* The number in "*2\r\n" or "$3\r\n"; -1: the line is not complete. */
static long read_count(const struct talk_conn *conn, size_t *at, char mark)
{
    const uint8_t *line = conn->call + *at;
    const uint8_t *end = *at < conn->used ? memchr(line, '\n', conn->used - *at) : NULL;

    if (end == NULL)
        return -1;
    assert(line[0] == mark && end[-1] == '\r');
    *at += (size_t)(end - line) + 1;
    return strtol((const char *)line + 1, NULL, 10);
}

static size_t call_size(const struct talk_conn *conn)
{
    size_t at = 0;

    for (long count = read_count(conn, &at, '*'); count > 0; count--) {
        long size = read_count(conn, &at, '$');
        if (size < 0 || at + (size_t)size + 2 > conn->used)
            return 0;
        at += (size_t)size + 2;
    }
    return at;
}

static void tell(struct talk_conn *conn, const uint8_t *piece, size_t size)
{
    talk_write(conn, piece, size);
}

static void answer(struct talk *talk, struct talk_conn *conn, size_t size)
{
    const uint8_t *piece;
    size_t         length;

    (void)size;
    if (talk_piece(talk, &piece, &length))
        talk_write(conn, piece, length);
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
