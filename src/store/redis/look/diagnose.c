/* diagnose.c - DIAGNOSE: the findings about a Redis server, for `holdfast doctor`.
 *
 * INFO, CONFIG GET and our script are sent in one flight, the script last.  Replies
 * come in order, so when the script's reply is there (or the connection breaks), so are
 * all others.  Settings that the server does not reveal are left out of the report.
 */
#include "store/redis/look/diagnose.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hf_redis_diagnose_free(struct hf_served_task *task)
{
    struct hf_redis_diagnose *diagnose = ((struct hf_redis_task *)task)->diagnose;

    if (diagnose == NULL)
        return;
    for (size_t i = 0; i < diagnose->calls; i++)
        assert(!diagnose->call[i].flying); /* the script was sent last */
    free(diagnose->text);
    free(diagnose);
}

/* ---- Settings ----------------------------------------------------------------- */

bool hf_redis_setting(const struct hf_redis_diagnose *diagnose, const char *key,
                      char *ret, size_t size)
{
    size_t      length = strlen(key);
    const char *line = diagnose->text;

    ret[0] = '\0';
    while (line != NULL) {
        if (strncmp(line, key, length) == 0 && line[length] == ':') {
            const char *value = line + length + 1;
            snprintf(ret, size, "%.*s", (int)strcspn(value, "\r\n"), value);
            return true;
        }
        const char *end = strchr(line, '\n');
        line = end != NULL ? end + 1 : NULL;
    }
    return false;
}

long long hf_redis_setting_number(const struct hf_redis_diagnose *diagnose,
                                  const char *key, long long otherwise)
{
    char text[32];

    return hf_redis_setting(diagnose, key, text, sizeof text) && text[0] != '\0'
               ? strtoll(text, NULL, 10)
               : otherwise;
}

static void keep_setting(struct hf_redis_diagnose *diagnose, const char *key,
                         const char *value)
{
    const char *before = diagnose->text != NULL ? diagnose->text : "";
    bool        has_key = key[0] != '\0';
    char       *grown;

    if (asprintf(&grown, "%s%s%s%s\n", before, key, has_key ? ":" : "", value) < 0) {
        diagnose->failed = true;
        return;
    }
    free(diagnose->text);
    diagnose->text = grown;
}

static void on_info(struct hf_redis *redis, void *data, const redisReply *reply)
{
    (void)redis;
    if (reply != NULL && reply->type == REDIS_REPLY_STRING)
        keep_setting(data, "", reply->str);
}

static void on_canaries(struct hf_redis *redis, void *data, const redisReply *reply)
{
    (void)redis;
    if (reply != NULL)
        ((struct hf_redis_diagnose *)data)->canary = hf_redis_canary_longest(reply);
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

/* ---- The answer --------------------------------------------------------------- */

static void answer_diagnose(struct hf_redis *redis, struct hf_served_task *task,
                            struct hf_redis_diagnose *diagnose, const redisReply *reply)
{
    struct hf_finding_list list = { .failed = diagnose->failed };

    hf_redis_server_tell(redis, diagnose, &list);
    hf_redis_data_tell(redis, diagnose, reply, task->base.req->name, &list);
    hf_served_findings(task, &list);
}

/* The server read its clock at some time between our question and its answer. */
static void on_diagnosed(struct hf_served_task *task, int code, const void *reply)
{
    struct hf_redis          *redis = (struct hf_redis *)hf_served_of(task);
    struct hf_redis_diagnose *diagnose = ((struct hf_redis_task *)task)->diagnose;

    (void)code;
    diagnose->longest = hf_redis_time(reply, HF_REDIS_ANSWER_TTL);
    diagnose->took = hf_now() - diagnose->began;
    diagnose->ahead = hf_redis_number(reply, HF_REDIS_ANSWER_NOW) -
                      (hf_wall_us() - diagnose->took / 2000);
    answer_diagnose(redis, task, diagnose, reply);
}

/* ---- Asking ------------------------------------------------------------------- */

static void send_query(struct hf_redis *redis, struct hf_redis_diagnose *diagnose,
                       int argc, const char *const *argv, hf_redis_on_reply *on_reply)
{
    assert(diagnose->calls < sizeof diagnose->call / sizeof *diagnose->call);
    hf_redis_conn_call(redis, &redis->link.conn, &diagnose->call[diagnose->calls++], argc,
                       argv, NULL, on_reply, diagnose);
}

/* Before version 7, CONFIG GET takes one setting only. */
static void query_server(struct hf_redis *redis, struct hf_redis_diagnose *diagnose)
{
    static const char *const sections[] = { "server", "memory", "persistence",
                                            "replication" };
    static const char *const settings[] = { "appendfsync", "save", "min-replicas-*" };

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        send_query(redis, diagnose, 2, (const char *[]){ "INFO", sections[i] }, on_info);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        send_query(redis, diagnose, 3, (const char *[]){ "CONFIG", "GET", settings[i] },
                   on_config);
    assert(diagnose->calls < sizeof diagnose->call / sizeof *diagnose->call);
    hf_redis_canaries_ask(redis, &diagnose->call[diagnose->calls++], on_canaries,
                          diagnose);
}

void hf_redis_diagnose(struct hf_served_task *task)
{
    struct hf_redis          *redis = (struct hf_redis *)hf_served_of(task);
    struct hf_redis_diagnose *diagnose = calloc(1, sizeof *diagnose);

    hf_redis_begin(task);
    if (diagnose == NULL || redis->args.failed) {
        free(diagnose);
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    assert(((struct hf_redis_task *)task)->diagnose == NULL);
    ((struct hf_redis_task *)task)->diagnose = diagnose;
    diagnose->began = hf_now();
    query_server(redis, diagnose);
    hf_served_send(task, on_diagnosed);
}
