/* witness.c - see witness.h. */
#include "witness.h"

#include "base/clock.h"
#include "lib/server_control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LIMIT_MS 30000

enum {
    CREATE = 1,
    DELETE = 2,
    GET = 4,
    SET_DATA = 5,
    SET_ACL = 7,
    CHILDREN = 8,
    MULTI = 14,
    NO_NODE = -101
};

const char *witness_server(void)
{
    const char *server = getenv("HF_ZK");

    if (server == NULL) {
        puts("# SKIP no server: run it by test/server/zookeeper.py");
        exit(77);
    }
    return server;
}

/* ---- Requests ----------------------------------------------------------------------- */

static void begin_bare(struct zkraw *raw, int32_t opcode)
{
    raw->size = 0;
    zkraw_put_int(raw, 0); /* for the length */
    zkraw_put_int(raw, ++raw->xid);
    zkraw_put_int(raw, opcode);
}

static void begin(struct zkraw *raw, int32_t opcode, const char *path)
{
    begin_bare(raw, opcode);
    zkraw_put_text(raw, path);
}

/* Send it and wait for the answer.  Returns its error. */
static int32_t finish(struct zkraw *raw)
{
    uint32_t big = htobe32((uint32_t)raw->size - 4);

    memcpy(raw->frame, &big, sizeof big);
    assert_int_equal(send(raw->fd, raw->frame, raw->size, MSG_NOSIGNAL), raw->size);
    if (!zkraw_receive(raw, LIMIT_MS))
        fail_msg("the witness has lost its connection");
    assert_int_equal(zkraw_int(raw, 0), raw->xid);
    return zkraw_int(raw, 12);
}

static void open_raw(struct zkraw *raw)
{
    if (!zkraw_open(raw, witness_server(), 4000))
        fail_msg("the witness is not let in");
}

/* The body of a create, after its path. */
static void put_create(struct zkraw *raw, const char *text, int32_t mode)
{
    zkraw_put_text(raw, text);
    zkraw_put_int(raw, 1);
    zkraw_put_int(raw, 31); /* all rights */
    zkraw_put_text(raw, "world");
    zkraw_put_text(raw, "anyone");
    zkraw_put_int(raw, mode);
}

int32_t witness_create_in(struct zkraw *raw, const char *path, const char *text,
                          int32_t mode)
{
    begin(raw, CREATE, path);
    put_create(raw, text, mode);
    return finish(raw);
}

int32_t witness_write_in(struct zkraw *raw, const char *path, const char *text)
{
    begin(raw, SET_DATA, path);
    zkraw_put_text(raw, text);
    zkraw_put_int(raw, -1);
    return finish(raw);
}

int32_t witness_permit_in(struct zkraw *raw, const char *path, int32_t rights)
{
    begin(raw, SET_ACL, path);
    zkraw_put_int(raw, 1);
    zkraw_put_int(raw, rights);
    zkraw_put_text(raw, "world");
    zkraw_put_text(raw, "anyone");
    zkraw_put_int(raw, -1);
    return finish(raw);
}

int32_t witness_delete_in(struct zkraw *raw, const char *path)
{
    begin(raw, DELETE, path);
    zkraw_put_int(raw, -1);
    return finish(raw);
}

int32_t witness_create(const char *path)
{
    struct zkraw raw;

    open_raw(&raw);
    int32_t error = witness_create_in(&raw, path, "", WITNESS_PLAIN);
    zkraw_close(&raw);
    return error;
}

int32_t witness_delete(const char *path)
{
    struct zkraw raw;

    open_raw(&raw);
    int32_t error = witness_delete_in(&raw, path);
    zkraw_close(&raw);
    return error;
}

/* ---- Looking ------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void look_in(struct zkraw *raw, const char *folder, struct witness *ret)
{
    *ret = (struct witness){ 0 };
    begin(raw, CHILDREN, folder);
    raw->frame[raw->size++] = 0; /* no watch */
    int32_t error = finish(raw);
    if (error == NO_NODE)
        return;
    assert_int_equal(error, 0);
    ret->there = true;
    size_t at = 20;
    for (int32_t n = zkraw_int(raw, 16); n > 0; n--) {
        size_t size = (size_t)zkraw_int(raw, at);
        assert_true(ret->count < WITNESS_MAX && size < WITNESS_NAME);
        memcpy(ret->name[ret->count++], raw->frame + at + 4, size);
        at += 4 + size;
    }
    qsort(ret->name, ret->count, sizeof ret->name[0], by_name);
}

size_t witness_read_in(struct zkraw *raw, const char *path, char *text, size_t room)
{
    begin(raw, GET, path);
    raw->frame[raw->size++] = 0; /* no watch */
    assert_int_equal(finish(raw), 0);
    size_t size = (size_t)zkraw_int(raw, 16);
    assert_true(size < room);
    memcpy(text, raw->frame + 20, size);
    text[size] = '\0';
    return size;
}

void witness_look(const char *folder, struct witness *ret)
{
    struct zkraw raw;

    open_raw(&raw);
    look_in(&raw, folder, ret);
    zkraw_close(&raw);
}

size_t witness_count(const char *folder)
{
    struct witness seen;

    witness_look(folder, &seen);
    return seen.count;
}

void witness_await(const char *folder, size_t count)
{
    hf_time        end = hf_now() + LIMIT_MS * HF_MS;
    struct witness seen;

    do
        witness_look(folder, &seen);
    while (seen.count != count && hf_now() < end && poll(NULL, 0, 1) == 0);
    for (size_t i = 0; seen.count != count && i < seen.count; i++)
        print_message("# in %s: %s\n", folder, seen.name[i]);
    assert_int_equal(seen.count, count);
}

/* The head of a part of a MULTI; -1 ends it. */
static void put_head(struct zkraw *raw, int32_t opcode)
{
    zkraw_put_int(raw, opcode);
    assert_true(raw->size < sizeof raw->frame);
    raw->frame[raw->size++] = opcode == -1;
    zkraw_put_int(raw, -1);
}

/* A part of a MULTI that deletes `path`; NULL ends the MULTI. */
static void put_part(struct zkraw *raw, const char *path)
{
    put_head(raw, path != NULL ? DELETE : -1);
    if (path == NULL)
        return;
    zkraw_put_text(raw, path);
    zkraw_put_int(raw, -1); /* any version */
}

/* A part that creates it. */
static void put_made(struct zkraw *raw, const char *path, int32_t mode)
{
    put_head(raw, CREATE);
    zkraw_put_text(raw, path);
    put_create(raw, "", mode);
}

static int last_first(const void *a, const void *b)
{
    size_t x = strlen(a), y = strlen(b);

    return strcmp((const char *)b + (y > 10 ? y - 10 : 0),
                  (const char *)a + (x > 10 ? x - 10 : 0));
}

/* Did it succeed?  A MULTI that failed begins with an error, of type -1. */
static bool delete_at_once(struct zkraw *raw, const char *folder)
{
    struct witness seen;
    char           path[512];

    look_in(raw, folder, &seen);
    qsort(seen.name, seen.count, sizeof seen.name[0], last_first);
    begin_bare(raw, MULTI);
    for (size_t i = 0; i < seen.count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, seen.name[i]);
        put_part(raw, path);
    }
    put_part(raw, folder);
    put_part(raw, NULL);
    return finish(raw) == 0 && zkraw_int(raw, 16) != -1;
}

/* In one step, and the last in line first: events come in that order, and a waiter hears
 * of its own end before that of the place ahead.  Repeated if a node came or went
 * meanwhile. */
void witness_delete_all(const char *folder)
{
    struct zkraw raw;
    int          tries = 0;

    open_raw(&raw);
    while (!delete_at_once(&raw, folder))
        assert_true(++tries < 100);
    zkraw_close(&raw);
}

void witness_recreate(struct zkraw *raw, const char *folder, const char *place,
                      int number)
{
    char path[512];

    begin_bare(raw, MULTI);
    put_part(raw, folder);
    put_made(raw, folder, WITNESS_PLAIN);
    for (int i = 0; i < number; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        put_made(raw, path, WITNESS_PLAIN);
    }
    snprintf(path, sizeof path, "%s/%s", folder, place);
    put_made(raw, path, WITNESS_SEQUENCE);
    for (int i = 0; i < number; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        put_part(raw, path);
    }
    put_part(raw, NULL);
    assert_true(finish(raw) == 0 && zkraw_int(raw, 16) != -1);
}

/* ---- The server --------------------------------------------------------------------- */

const char *witness_tell(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *said = server_control("HF_ZK_CTL", format, args);
    va_end(args);
    return said;
}

/* Not by `wchs`: that does not count those of folders. */
long witness_watches(void)
{
    static const char name[] = "zk_watch_count";
    const char       *said = witness_tell("word 1 mntr");
    const char       *count = strstr(said, name);

    if (count == NULL)
        fail_msg("the server does not tell its watches: %s", said);
    return strtol(count + strlen(name), NULL, 10);
}

long witness_await_watches(long count)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;
    long    seen;

    while ((seen = witness_watches()) != count && hf_now() < end)
        poll(NULL, 0, 2);
    return seen;
}
