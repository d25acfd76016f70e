/* script.c - the scripts, and how one is called.
 *
 * Each script is put together from files, in this order; those in brackets only where
 * needed:
 *
 *     [NAME_quick.lua]  changes.lua  [quick.lua]  base.lua  line.lua
 *     [server.lua or anybody.lua]  NAME.lua
 *
 * A script is called by its SHA1.  If the server does not know it, it is loaded, and
 * called again.
 */
#include "store/redis/inner.h"

#include "store/redis/scripts/anybody.lua.h"
#include "store/redis/scripts/ask.lua.h"
#include "store/redis/scripts/base.lua.h"
#include "store/redis/scripts/break.lua.h"
#include "store/redis/scripts/bye.lua.h"
#include "store/redis/scripts/changes.lua.h"
#include "store/redis/scripts/diagnose.lua.h"
#include "store/redis/scripts/downgrade.lua.h"
#include "store/redis/scripts/enter.lua.h"
#include "store/redis/scripts/enter_quick.lua.h"
#include "store/redis/scripts/hello.lua.h"
#include "store/redis/scripts/history.lua.h"
#include "store/redis/scripts/leave.lua.h"
#include "store/redis/scripts/leave_quick.lua.h"
#include "store/redis/scripts/line.lua.h"
#include "store/redis/scripts/list.lua.h"
#include "store/redis/scripts/quick.lua.h"
#include "store/redis/scripts/read.lua.h"
#include "store/redis/scripts/reclaim.lua.h"
#include "store/redis/scripts/renew.lua.h"
#include "store/redis/scripts/server.lua.h"
#include "store/redis/scripts/verify.lua.h"
#include "store/redis/scripts/watch.lua.h"
#include "store/redis/scripts/watch_store.lua.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers and times from a server are cut off here, so that no sum overflows. */
#define NUMBER_MAX ((int64_t)1 << 60)
#define TIME_MAX   (24 * 3600 * HF_SEC)

static const char *const bodies[HF_REDIS_SCRIPTS] = {
    [HF_REDIS_HELLO] = hello_lua,
    [HF_REDIS_RECLAIM] = reclaim_lua,
    [HF_REDIS_RENEW] = renew_lua,
    [HF_REDIS_BYE] = bye_lua,
    [HF_REDIS_ENTER] = enter_lua,
    [HF_REDIS_LEAVE] = leave_lua,
    [HF_REDIS_READ] = read_lua,
    [HF_REDIS_DOWNGRADE] = downgrade_lua,
    [HF_REDIS_WATCH] = watch_lua,
    [HF_REDIS_BREAK] = break_lua,
    [HF_REDIS_ASK] = ask_lua,
    [HF_REDIS_VERIFY] = verify_lua,
    [HF_REDIS_LIST] = list_lua,
    [HF_REDIS_DIAGNOSE] = diagnose_lua,
    [HF_REDIS_WATCH_STORE] = watch_store_lua,
    [HF_REDIS_HISTORY] = history_lua,
};

/* ---- Their names -------------------------------------------------------------- */

static char *script_text(enum hf_redis_script script)
{
    const char *quick = script == HF_REDIS_ENTER   ? enter_quick_lua
                        : script == HF_REDIS_LEAVE ? leave_quick_lua
                                                   : "";
    const char *between =
        script == HF_REDIS_HELLO || script == HF_REDIS_RENEW ? server_lua
        : script == HF_REDIS_BREAK || script == HF_REDIS_ASK || script == HF_REDIS_VERIFY
            ? anybody_lua
            : "";
    char *text = NULL;

    assert(script < HF_REDIS_SCRIPTS && bodies[script] != NULL);
    if (asprintf(&text, "%s\n%s\n%s\n%s\nLAYOUT = LAYOUT + %d\n%s\n%s\n%s", quick,
                 changes_lua, quick[0] != '\0' ? quick_lua : "", base_lua, HF_LAYOUT_BUMP,
                 line_lua, between, bodies[script]) < 0)
        return NULL;
    return text;
}

const char *hf_redis_script_sha(struct hf_redis *redis, enum hf_redis_script script)
{
    char *sha = redis->sha[script];

    if (sha[0] != '\0')
        return sha;
    char *text = script_text(script);
    if (text == NULL)
        return NULL;
    hf_redis_sha1(text, sha);
    free(text);
    return sha;
}

static void on_loaded(struct hf_redis *redis, void *data, const redisReply *reply)
{
    free(data);
    if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
        switch (hf_redis_fault(redis, reply)) {
        case HF_SERVED_DENIED:
            hf_dial_refuse(redis->remote.dial, HF_EDENIED, NULL);
            break;
        case HF_SERVED_FAILED:
            hf_dial_refuse(redis->remote.dial, HF_ESTORE, NULL);
            break;
        default:
            hf_dial_break(redis->remote.dial, NULL);
            break;
        }
}

void hf_redis_load(struct hf_redis *redis, const char *text)
{
    struct hf_redis_call *call = calloc(1, sizeof *call);
    const char           *argv[] = { "SCRIPT", "LOAD", text };
    size_t                length[] = { 6, 4, text != NULL ? strlen(text) : 0 };

    if (redis->remote.dial->phase <
        HF_DIAL_GREETING) { /* the connection has just broken */
        free(call);
        return;
    }
    if (text == NULL || call == NULL) {
        free(call);
        hf_dial_break(redis->remote.dial, "cannot be given a script: out of memory");
        return;
    }
    hf_redis_conn_call(redis, &redis->link.conn, call, 3, argv, length, on_loaded, call);
}

void hf_redis_script_load(struct hf_redis *redis, enum hf_redis_script script)
{
    char *text = script_text(script);

    hf_redis_load(redis, text);
    free(text);
}

/* ---- Arguments ---------------------------------------------------------------- */

static struct hf_redis_args *args_of(struct hf_served *served)
{
    return &((struct hf_redis *)served)->args;
}

void hf_redis_add(struct hf_served *served, const char *text)
{
    hf_redis_args_add(args_of(served), text, strlen(text));
}

void hf_redis_add_note(struct hf_served *served, const char *text)
{
    hf_redis_add(served, text != NULL ? text : "");
}

static void add_digits(struct hf_served *served, uint64_t number, size_t width)
{
    char text[HF_REDIS_DIGITS];

    hf_redis_args_add(args_of(served), text, hf_redis_digits(number, width, text));
}

void hf_redis_add_number(struct hf_served *served, uint64_t number)
{
    add_digits(served, number, 0);
}

void hf_redis_add_seq(struct hf_served *served, uint64_t seq)
{
    add_digits(served, seq, seq != 0 ? 16 : 0);
}

void hf_redis_add_kind(struct hf_served *served, const struct hf_shape *shape)
{
    char   text[HF_REDIS_DIGITS + 1];
    size_t size = hf_redis_digits(shape->capacity, 0, text);

    text[size] = 'c';
    hf_redis_args_add(args_of(served), text, size + shape->claim);
}

/* ENTER without further arguments asks for a mutex. */
void hf_redis_add_wish(struct hf_served *served, const struct hf_req *req)
{
    const struct hf_shape *shape = &req->shape;

    if (shape->weight == 1 && shape->capacity == 1 && !shape->claim && !req->only_free &&
        req->limit == 0)
        return;
    hf_redis_add_number(served, shape->weight);
    hf_redis_add_kind(served, shape);
    if (req->only_free)
        hf_redis_add(served, "-1");
    else
        hf_redis_add_number(served, req->limit);
}

static void add_key(struct hf_redis *redis, const char *what, const char *name)
{
    char  key[HF_REDIS_PREFIX + 300];
    char *at = stpcpy(stpcpy(key, redis->config.prefix), what);

    assert(strlen(name) < sizeof key - (size_t)(at - key));
    at = stpcpy(at, name);
    hf_redis_args_add(&redis->args, key, (size_t)(at - key));
}

void hf_redis_add_claim(struct hf_redis *redis, const char *name)
{
    add_key(redis, ":claim:", name);
}

/* ---- Calls -------------------------------------------------------------------- */

/* Does the call have to name the keys of the change log and of history?  A script
 * answers NEEDS_LOG if so.  Until then they are left out: usually they do not exist,
 * and a cluster that is moving a slot refuses a call that names a key that does not
 * exist. */
static bool needs_log(const struct hf_redis *redis, enum hf_redis_script script)
{
    return redis->log_keys || script == HF_REDIS_WATCH_STORE ||
           script == HF_REDIS_HISTORY ||
           (script == HF_REDIS_HELLO && redis->config.history >= 0);
}

void hf_redis_script(struct hf_redis *redis, enum hf_redis_script script, size_t claims)
{
    const char *sha = hf_redis_script_sha(redis, script);
    bool        log = needs_log(redis, script);

    assert(script < HF_REDIS_SCRIPTS);
    hf_redis_args_begin(&redis->args);
    redis->args.failed = sha == NULL;
    hf_redis_add(&redis->served, "EVALSHA");
    hf_redis_add_note(&redis->served, sha);
    hf_redis_add_number(&redis->served, (log || claims > 0 ? 4 : 2) + claims);
    add_key(redis, ":state", "");
    add_key(redis, ":order", "");
    if (log || claims > 0) {
        add_key(redis, log ? ":changes" : ":state", "");
        add_key(redis, log ? ":history" : ":order", "");
    }
}

void hf_redis_add_session(struct hf_redis *redis)
{
    assert(strlen(redis->served.sid) == 16 && redis->session.connection > 0);
    hf_redis_add(&redis->served, redis->session.epoch);
    hf_redis_add(&redis->served, redis->served.sid);
    hf_redis_add_number(&redis->served, redis->session.connection);
}

void hf_redis_add_owner(struct hf_redis *redis, uint64_t id)
{
    char  text[sizeof redis->served.sid + 1 + HF_REDIS_DIGITS];
    char *at = stpcpy(stpcpy(text, redis->served.sid), ":");

    at += hf_redis_digits(redis->served.first_id + id, 0, at);
    hf_redis_add(&redis->served, redis->session.epoch);
    hf_redis_args_add(&redis->args, text, (size_t)(at - text));
    hf_redis_add_number(&redis->served, redis->session.connection);
}

static void on_asking(struct hf_redis *redis, void *data, const redisReply *reply)
{
    (void)redis;
    (void)reply;
    free(data);
}

/* ASKING: our keys are being moved to this server, which does not own the slot yet.
 * Redis wants this before every command. */
static void say_asking(struct hf_redis *redis)
{
    struct hf_redis_call *call = calloc(1, sizeof *call);

    if (call == NULL)
        redis->args.failed = true;
    else
        hf_redis_conn_call(redis, &redis->link.conn, call, 1,
                           (const char *[]){ "ASKING" }, NULL, on_asking, call);
}

void hf_redis_send(struct hf_redis *redis, struct hf_redis_call *call,
                   hf_redis_on_reply *on_reply, void *data)
{
    assert(!call->flying);
    if (redis->link.asking && redis->remote.dial->phase >= HF_DIAL_GREETING)
        say_asking(redis);
    /* the callers see a connection that broke after sending */
    if (redis->args.failed)
        hf_dial_break(redis->remote.dial, "cannot be asked: out of memory");
    if (redis->remote.dial->phase < HF_DIAL_GREETING) {
        on_reply(redis, data, NULL);
        return;
    }
    hf_redis_conn_send(redis, &redis->link.conn, call, &redis->args, on_reply, data);
}

/* ---- Answers ------------------------------------------------------------------ */

/* Short forms of the most frequent answers.  ENTER: "SEQ" for { 0, 'g', seq, -1, seq },
 * and "w SEQ AHEAD PATIENCE" for { 0, 'w', seq, -1, seq, 0, ahead, false, patience }.
 * LEAVE: 0 for { 0, 0 }.  See show() in line.lua for the long form. */
static bool is_short(const redisReply *reply)
{
    return reply != NULL && reply->type == REDIS_REPLY_STRING;
}

static int64_t short_number(const char *text, size_t index)
{
    static const int words[] = { [2] = 1, [4] = 1, [6] = 2, [8] = 3 };
    int              word = index < sizeof words / sizeof *words ? words[index] : 0;

    if (index == 3) /* the slot */
        return -1;
    if (text[0] != 'w') /* granted: there is only SEQ */
        return word == 1 ? strtoll(text, NULL, 10) : 0;
    for (int i = 0; i < word && text != NULL; i++)
        text = strchr(text + 1, ' ');
    return word > 0 && text != NULL ? strtoll(text, NULL, 10) : 0;
}

static const redisReply *reply_part(const redisReply *reply, size_t index)
{
    return reply != NULL && reply->type == REDIS_REPLY_ARRAY && index < reply->elements
               ? reply->element[index]
               : NULL;
}

static int64_t part_number(const redisReply *part)
{
    if (part == NULL)
        return 0;
    return part->type == REDIS_REPLY_INTEGER  ? part->integer
           : part->type == REDIS_REPLY_STRING ? strtoll(part->str, NULL, 10)
                                              : 0;
}

int64_t hf_redis_number(const void *reply, size_t index)
{
    int64_t number = is_short(reply)
                         ? short_number(((const redisReply *)reply)->str, index)
                         : part_number(reply_part(reply, index));

    return number > NUMBER_MAX ? NUMBER_MAX : number < -NUMBER_MAX ? -NUMBER_MAX : number;
}

hf_time hf_redis_time(const void *reply, size_t index)
{
    int64_t us = hf_redis_number(reply, index);

    return us <= 0 ? 0 : us < TIME_MAX / 1000 ? us * 1000 : TIME_MAX;
}

const char *hf_redis_text(const void *reply, size_t index)
{
    const redisReply *at = reply_part(reply, index);

    if (is_short(reply))
        return index != 1 ? NULL : ((const redisReply *)reply)->str[0] == 'w' ? "w" : "g";
    return at != NULL && at->type == REDIS_REPLY_STRING ? at->str : NULL;
}
