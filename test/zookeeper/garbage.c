/* garbage.c - a server that answers nonsense: the client drops it and tries again after a
 * pause, reports it in a sentence, and believes nothing of it. */
#include "lib/fake_server.h"
#include "lib/promise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHILE (400 * HF_MS)
#define LIMIT (20 * HF_SEC)

/* ---- Greetings that make no sense --------------------------------------------------- */

static bool greet_http(int fd)
{
    static const char text[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    return fake_say(fd, text, sizeof text - 1) && false;
}

static bool greet_negative(int fd)
{
    return fake_say(fd, "\xff\xff\xff\xff....", 8);
}

static bool greet_huge(int fd)
{
    return fake_say(fd, "\x7f\xff\xff\xff....", 8);
}

static bool greet_empty(int fd)
{
    return fake_say(fd, "\0\0\0\0", 4);
}

static bool greet_half(int fd)
{
    return fake_say(fd, "\0\0\0\x25\0\0\0\0\0\0", 10) && false;
}

static bool greet_silence(int fd)
{
    (void)fd;
    return false;
}

static bool greet_none(int fd)
{
    return fake_welcome_with(fd, 0, 0);
}

static bool greet_short(int fd)
{
    return fake_welcome_with(fd, 400, FAKE_SESSION);
}

static bool greet_noise(int fd)
{
    unsigned char noise[256];

    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)rand();
    return fake_say(fd, noise, sizeof noise) && false;
}

/* ---- Answers that make no sense ----------------------------------------------------- */

static bool answer_other_xid(int fd, const unsigned char *frame, size_t size)
{
    (void)size;
    return fake_reply(fd, fake_int(frame, 0) + 1000, 0, NULL, 0);
}

static bool answer_twice(int fd, const unsigned char *frame, size_t size)
{
    (void)size;
    return fake_reply(fd, fake_int(frame, 0), -101, NULL, 0) &&
           fake_reply(fd, fake_int(frame, 0), -101, NULL, 0);
}

static bool answer_negative(int fd, const unsigned char *frame, size_t size)
{
    (void)frame, (void)size;
    return fake_say(fd, "\x80\0\0\0", 4);
}

static bool answer_huge(int fd, const unsigned char *frame, size_t size)
{
    (void)frame, (void)size;
    return fake_say(fd, "\x7f\xff\xff\xff\0\0\0\0", 8);
}

static bool answer_half(int fd, const unsigned char *frame, size_t size)
{
    (void)frame, (void)size;
    return fake_say(fd, "\0\0\0\x40\0\0", 6) && false;
}

static bool answer_tiny(int fd, const unsigned char *frame, size_t size)
{
    (void)frame, (void)size;
    return fake_say(fd,
                    "\0\0\0\x03"
                    "abc",
                    7);
}

/* Success, but with an empty body. */
static bool answer_hollow(int fd, const unsigned char *frame, size_t size)
{
    (void)size;
    return fake_reply(fd, fake_int(frame, 0), 0, NULL, 0);
}

/* Counts and lengths beyond the end of the frame. */
static bool answer_overlong(int fd, const unsigned char *frame, size_t size)
{
    unsigned char bytes[64] = { 0 }, *at = bytes;

    (void)size;
    fake_put(&at, 60, 4);
    fake_put(&at, (uint32_t)fake_int(frame, 0), 4);
    fake_put(&at, 1, 8);
    fake_put(&at, 0, 4);
    fake_put(&at, 0x7fffffff, 4);
    fake_put(&at, 0x7ffffff0, 4);
    return fake_say(fd, bytes, sizeof bytes);
}

/* Events about unknown paths, and then nothing more. */
static bool answer_events(int fd, const unsigned char *frame, size_t size)
{
    (void)frame, (void)size;
    for (uint32_t type = 0; type < 6; type++) {
        unsigned char bytes[64] = { 0 }, *at = bytes;
        fake_put(&at, 16 + 12 + 10, 4);
        fake_put(&at, (uint32_t)-1, 4);
        fake_put(&at, 1, 8);
        fake_put(&at, 0, 4);
        fake_put(&at, type == 5 ? (uint32_t)-7 : type, 4);
        fake_put(&at, 3, 4);
        fake_put(&at, 10, 4);
        memcpy(at, "/of/nobody", 10);
        if (!fake_say(fd, bytes, 4 + 38))
            return false;
    }
    return answer_hollow(fd, frame, size);
}

/* Every error that exists, and some that do not. */
static bool answer_errors(int fd, const unsigned char *frame, size_t size)
{
    static atomic_int error;

    (void)size;
    return fake_reply(fd, fake_int(frame, 0), -1 - atomic_fetch_add(&error, 1) % 130,
                      NULL, 0);
}

/* ---- The tests ---------------------------------------------------------------------- */

struct nonsense {
    const char *name;
    bool (*greet)(int fd);
    bool (*answer)(int fd, const unsigned char *frame, size_t size);
};

static const struct nonsense all[] = {
    { "http", greet_http, answer_hollow },
    { "negative greeting", greet_negative, answer_hollow },
    { "huge greeting", greet_huge, answer_hollow },
    { "empty greeting", greet_empty, answer_hollow },
    { "half a greeting", greet_half, answer_hollow },
    { "no greeting", greet_silence, answer_hollow },
    { "no session", greet_none, answer_hollow },
    { "short session", greet_short, answer_hollow },
    { "noise", greet_noise, answer_hollow },
    { "other xid", fake_welcome, answer_other_xid },
    { "two answers", fake_welcome, answer_twice },
    { "negative answer", fake_welcome, answer_negative },
    { "huge answer", fake_welcome, answer_huge },
    { "half an answer", fake_welcome, answer_half },
    { "tiny answer", fake_welcome, answer_tiny },
    { "hollow answers", fake_welcome, answer_hollow },
    { "overlong answers", fake_welcome, answer_overlong },
    { "events", fake_welcome, answer_events },
    { "errors", fake_welcome, answer_errors },
};

/* Send every request for a while: nothing is granted, and the client does not repeat them
 * without a pause. */
static void client_survives_garbage(void **state)
{
    const struct nonsense *nonsense = *state;
    struct fake    fake = { .greet = nonsense->greet, .answer = nonsense->answer };
    struct player  player;
    struct request request[6];

    fake_start(&fake);
    promise_use(fake.url);
    player_open(&player);
    for (unsigned i = 0; i < 6; i++) {
        static const enum hf_op ops[] = { HF_ENTER, HF_ENTER, HF_LIST, HF_VERIFY };
        if (i == 4)
            to_look(&request[i], "nonsense", 3);
        else if (i == 5)
            to_watch_place(&request[i], "nonsense", NULL, 1);
        else
            request[i] = (struct request){ .req = { .op = ops[i],
                                                    .name = "nonsense",
                                                    .id = i < 2 ? i + 1 : 0,
                                                    .shape = i == 0 ? MUTEX : CLAIM,
                                                    .only_free = i == 1,
                                                    .token = 1 } };
        player_submit(&player, &request[i]);
    }
    hf_time start = hf_now();
    while (hf_now() - start < WHILE ||
           (fake.connections == 0 && hf_now() - start < LIMIT)) {
        player_turn(&player, 20);
        for (unsigned i = 0; i < 6; i++) {
            if (request[i].answers == 0)
                continue;
            if (i < 2 && request[i].req.status == 0)
                assert_false(is_granted(&request[i]));
            if (request[i].req.status == HF_EDOWN)
                player_submit(&player, &request[i]);
        }
    }
    print_message("# %s: %u connections, %u requests: %s\n", nonsense->name,
                  fake.connections, fake.requests, player.store->errmsg);
    assert_true(fake.connections >= 1 &&
                fake.connections < 50); /* pauses grow from 50 ms */
    assert_true(fake.requests < 5000);
    assert_true(strlen(player.store->errmsg) < HF_ERRMSG_MAX - 1);
    player_close(&player);
    fake_stop(&fake);
}

/* ---- A server that refuses to set watches ------------------------------------------- */

enum { GET_DATA = 4, CHILDREN2 = 12, CREATE2 = 15, THROTTLED = -127 };

static char own[128]; /* the node that was created */

static void put_text(unsigned char **at, const char *text)
{
    fake_put(at, strlen(text), 4);
    memcpy(*at, text, strlen(text));
    *at += strlen(text);
}

static void put_stat(unsigned char **at)
{
    fake_put(at, 5, 8); /* czxid */
    for (int i = 0; i < 3; i++)
        fake_put(at, 0, 8);
    for (int i = 0; i < 3; i++)
        fake_put(at, 0, 4);
    fake_put(at, FAKE_SESSION, 8); /* owner */
    fake_put(at, 0, 8);
    fake_put(at, 6, 8);
}

static bool answer_throttled(int fd, const unsigned char *frame, size_t size)
{
    unsigned char body[512], *at = body;
    int32_t       xid = fake_int(frame, 0), opcode = fake_int(frame, 4);
    const char   *path = (const char *)frame + 12;
    int           length = size > 12 ? fake_int(frame, 8) : 0;

    if (opcode == CREATE2) {
        snprintf(own, sizeof own, "%.*s0000000001", length, path);
        put_text(&at, own);
    } else if (opcode == CHILDREN2) {
        fake_put(&at, 2, 4);
        put_text(&at, "lock-0000000000");
        put_text(&at, own + strlen("/throttled/"));
    } else if (opcode == GET_DATA && length == (int)strlen(own) &&
               memcmp(path, own, strlen(own)) == 0) {
        put_text(&at, "");
    } else {
        return fake_reply(fd, xid, THROTTLED, NULL, 0);
    }
    put_stat(&at);
    return fake_reply(fd, xid, 0, body, (size_t)(at - body));
}

/* A place that cannot be watched still blocks. */
static void unwatchable_place_still_blocks(void **state)
{
    struct fake    fake = { .greet = fake_welcome, .answer = answer_throttled };
    struct player  player;
    struct request waiting, watching;

    (void)state;
    fake_start(&fake);
    promise_use(fake.url);
    player_open(&player);
    uint64_t id = enter(&player, "throttled", MUTEX, &waiting);
    assert_false(is_granted(&waiting));
    watch(&player, "throttled", &waiting, &watching);
    assert_false(player_await(&player, &watching, 1000));
    assert_int_equal(fake.connections, 1);
    assert_true(fake.requests > 6 && fake.requests < 50); /* it has retried */
    assert_int_equal(look(&player, "throttled", id, &waiting), 0);
    assert_true(has_place(&waiting));
    assert_false(is_granted(&waiting));
    player_close(&player);
    fake_stop(&fake);
}

/* ---- A server that reports an expired session for every request --------------------- */

#define ASKED 5

enum { NO_NODE = -101, EXPIRED = -112 };

static atomic_uint welcomes;

static bool greet_counted(int fd)
{
    welcomes++;
    return fake_welcome_with(fd, 4000, FAKE_SESSION + (int64_t)welcomes);
}

/* The first session has expired; in the next there is no such folder. */
static bool answer_expired(int fd, const unsigned char *frame, size_t size)
{
    (void)size;
    fake_reply(fd, fake_int(frame, 0), welcomes == 1 ? EXPIRED : NO_NODE, NULL, 0);
    return true; /* it keeps answering */
}

/* The session is lost once, and the next one is not affected. */
static void expired_session_is_lost_once(void **state)
{
    struct fake    fake = { .greet = greet_counted, .answer = answer_expired };
    struct player  player;
    struct request request[ASKED];
    char           name[ASKED][8];

    (void)state;
    fake_start(&fake);
    promise_use(fake.url);
    player_open(&player);
    for (unsigned i = 0; i < ASKED; i++) { /* all sent together */
        snprintf(name[i], sizeof name[i], "old-%u", i);
        request[i] = (struct request){ .req = { .op = HF_LIST, .name = name[i] } };
        player_submit(&player, &request[i]);
    }
    for (unsigned i = 0; i < ASKED; i++) {
        assert_true(player_await(&player, &request[i], (int)(LIMIT / HF_MS)));
        assert_int_equal(request[i].req.status, HF_EDOWN);
    }
    assert_int_equal(player.lost, 1);
    for (unsigned i = 0; i < ASKED; i++) {
        assert_int_equal(request[i].answers, 1);
        assert_int_equal(player_run(&player, &request[i]), 0);
    }
    assert_int_equal(player.lost, 1);
    assert_int_equal(welcomes, 2);
    player_close(&player);
    fake_stop(&fake);
}

int main(void)
{
    enum { COUNT = sizeof all / sizeof *all };
    struct CMUnitTest tests[COUNT + 2] = {
        [COUNT] = cmocka_unit_test(unwatchable_place_still_blocks),
        [COUNT + 1] = cmocka_unit_test(expired_session_is_lost_once),
    };

    srand(1);
    for (size_t i = 0; i < COUNT; i++) {
        tests[i] = (struct CMUnitTest)cmocka_unit_test_prestate(client_survives_garbage,
                                                                (void *)&all[i]);
        tests[i].name = all[i].name;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
