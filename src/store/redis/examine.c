/* examine.c - EXAMINE: what a person should know of a Redis server.
 *
 * INFO, CONFIG GET and a script of ours are sent in one flight.  The script is sent last,
 * and answers come in the order of calls.  So when it is answered, even by the connection
 * breaking, all others have been answered.  What the server does not tell us is left out.
 */
#include "store/redis/examine.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hf_redis_examine_free(struct hf_served_task *task)
{
    struct hf_redis_examine *examine = ((struct hf_redis_task *)task)->examine;

    if (examine == NULL)
        return;
    for (size_t i = 0; i < examine->calls; i++)
        assert(!examine->call[i].flying); /* the script was sent last */
    free(examine->text);
    free(examine);
}

/* ---- What it said --------------------------------------------------------------- */

bool hf_redis_told(const struct hf_redis_examine *examine, const char *key, char *ret,
                   size_t size)
{
    size_t      length = strlen(key);
    const char *line = examine->text;

    ret[0] = '\0';
    while (line != NULL) {
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            const char *value = line + length + 1;
            snprintf(ret, size, "%.*s", (int)strcspn(value, "\r\n"), value);
            return true;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return false;
}

long long hf_redis_told_number(const struct hf_redis_examine *examine, const char *key,
                               long long otherwise)
{
    char text[32];

    return hf_redis_told(examine, key, text, sizeof text) && text[0] != '\0'
               ? strtoll(text, NULL, 10)
               : otherwise;
}

static void keep_setting(struct hf_redis_examine *examine, const char *key,
                         const char *value)
{
    const char *before = examine->text != NULL ? examine->text : "";
    bool        has_key = key[0] != '\0';
    char       *grown;

    if (asprintf(&grown, "%s%s%s%s\n", before, key, has_key ? ":" : "", value) < 0) {
        examine->failed = true;
        return;
    }
    free(examine->text);
    examine->text = grown;
}

static void on_info(struct hf_redis *redis, void *data, const redisReply *reply)
{
    (void)redis;
    if (reply != NULL && reply->type == REDIS_REPLY_STRING)
        keep_setting(data, "", reply->str);
}

/* "name", "value", "name", "value" ... */
static void on_config(struct hf_redis *redis, void *data, const redisReply *reply)
{
    (void)redis;
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY)
        return;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const char *key = hf_redis_text(reply, i), *value = hf_redis_text(reply, i + 1);
        if (key != NULL && value != NULL)
            keep_setting(data, key, value);
    }
}

/* ---- The answer ----------------------------------------------------------------- */

static void tell_redis(struct hf_redis *redis, struct hf_served_task *task,
                       struct hf_redis_examine *examine, const redisReply *reply)
{
    struct hf_finding_list list = { .failed = examine->failed };

    hf_redis_server_tell(redis, examine, &list);
    hf_redis_data_tell(redis, examine, reply, task->base.req->name, &list);
    hf_served_findings(task, &list);
}

/* Its clock was read at some time between asking and answer. */
static void on_examined(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_redis         *redis = (struct hf_redis *)hf_served_of(task);
    struct hf_redis_examine *examine = ((struct hf_redis_task *)task)->examine;

    (void)code;
    examine->longest = hf_redis_time(reply, HF_REDIS_TOLD_TTL);
    examine->took = hf_now() - examine->began;
    examine->ahead =
        hf_redis_number(reply, HF_REDIS_TOLD_NOW) - (hf_wall_us() - examine->took / 2000);
    tell_redis(redis, task, examine, reply);
}

/* ---- Asking --------------------------------------------------------------------- */

static void send_query(struct hf_redis *redis, struct hf_redis_examine *examine, int argc,
                       const char *const *argv, hf_redis_on_reply *on_reply)
{
    assert(examine->calls < sizeof examine->call / sizeof *examine->call);
    hf_redis_conn_call(redis, &redis->link.conn, &examine->call[examine->calls++], argc,
                       argv, NULL, on_reply, examine);
}

/* Several settings in one CONFIG GET are possible from version 7 on. */
static void query_server(struct hf_redis *redis, struct hf_redis_examine *examine)
{
    static const char *const sections[] = { "server", "memory", "persistence",
                                            "replication" };
    static const char *const settings[] = { "appendfsync", "save", "min-replicas-*" };

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        send_query(redis, examine, 2, (const char *[]){ "INFO", sections[i] }, on_info);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        send_query(redis, examine, 3, (const char *[]){ "CONFIG", "GET", settings[i] },
                   on_config);
}

void hf_redis_examine(struct hf_served_task *task)
{
    struct hf_redis         *redis = (struct hf_redis *)hf_served_of(task);
    struct hf_redis_examine *examine = calloc(1, sizeof *examine);

    hf_redis_begin(task);
    if (examine == NULL || redis->args.failed) {
        free(examine);
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    assert(((struct hf_redis_task *)task)->examine == NULL);
    ((struct hf_redis_task *)task)->examine = examine;
    examine->began = hf_now();
    query_server(redis, examine);
    hf_served_send(task, on_examined);
}
