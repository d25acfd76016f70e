/* examine.c - EXAMINE: what a person should know of a Redis server. */
#include "store/redis/inner.h"

#include "store/findings.h"

#include <stdlib.h>

/* { 0, sessions, holders, waiters, on hold for, longest ttl, last token, epoch, holders and
 *   waiters of the name } */
static void on_looked(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_task *task = data;
    struct hf_gathered    list = { 0 };
    int                   code;

    if (!hf_redis_answered(redis, task, reply, &code))
        return;
    hf_gather(&list, HF_FINE, "lines", NULL, "%lld hold, %lld wait",
              (long long)hf_redis_number(reply, 2), (long long)hf_redis_number(reply, 3));
    if (task->req->name != NULL)
        hf_gather(&list, HF_FINE, "line", NULL, "%lld hold \"%s\", %lld wait",
                  (long long)hf_redis_number(reply, 8), task->req->name,
                  (long long)hf_redis_number(reply, 9));
    task->req->finding = list.finding;
    task->req->findings = list.count;
    hf_redis_finish(redis, task, list.failed ? HF_ENOMEM : 0);
    hf_gathered_clear(&list);
}

void hf_redis_examine(struct hf_redis *redis, struct hf_redis_task *task)
{
    hf_redis_script(redis, task->script = HF_REDIS_LOOK, 0);
    hf_redis_add_who(redis);
    if (task->req->name != NULL)
        hf_redis_add(redis, task->req->name);
    hf_redis_task_send(redis, task, on_looked);
}
