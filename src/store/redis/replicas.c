/* replicas.c - with replicas=n, a grant or a break counts only once n replicas have it.
 *
 * WAIT returns how many replicas have everything that this connection wrote before.  So
 * the last write on it must not be older than the grant: it is either the ENTER that
 * was granted, or a read that also writes (see task.c).  If too few replicas answer,
 * the request fails, and the client gives the place up.  A break is itself that write.  It
 * stays where it was made, but a replica that takes over may not know of it.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>

static void too_few(struct hf_redis *redis, struct hf_served_task *task, long long count)
{
    bool breaks = task->base.req->op == HF_BREAK;
    char server[300];

    assert(count < redis->config.replicas);
    hf_task_fail(
        &task->base, HF_ESTORE,
        "Redis at %.100s: only %lld of %d replicas have the %s of \"%.60s\", so %s",
        hf_dial_show(redis->remote.dial, server, sizeof server), count,
        redis->config.replicas, breaks ? "break" : "grant", task->base.req->name,
        breaks ? "a failover may undo it" : "it is given up");
}

static void on_waited(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_served_task  *task = data;
    struct hf_served_place *place =
        hf_served_place_find(&redis->served, task->base.req->id);

    if (hf_served_failed(task, hf_redis_fault(redis, reply), reply))
        return;
    if (reply->type != REDIS_REPLY_INTEGER || reply->integer < redis->config.replicas) {
        too_few(redis, task, reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0);
    } else if (task->base.req->op == HF_BREAK) {
        hf_task_finish(&task->base, 0);
    } else if (place == NULL) {
        hf_task_finish(&task->base,
                       HF_EDOWN); /* the place is gone, and so is the question */
    } else {
        place->safe = true;
        hf_served_show(task);
    }
}

void hf_redis_replicas_wait(struct hf_served_task *task)
{
    struct hf_redis *redis = (struct hf_redis *)hf_served_of(task);
    char             count[16], ms[24];
    const char      *argv[] = { "WAIT", count, ms };

    assert(redis->config.replicas > 0);
    snprintf(count, sizeof count, "%d", redis->config.replicas);
    snprintf(ms, sizeof ms, "%lld", (long long)(redis->config.ttl / HF_MS / 6));
    hf_served_sent(task);
    hf_redis_conn_call(redis, &redis->link.conn, &((struct hf_redis_task *)task)->call, 3,
                       argv, NULL, on_waited, task);
}
