/* claim.c - claims: all that a lock ever has are called the same, one after another.
 *
 * So a claim is known by its czxid, which is its seq and token, and not by its path.  A
 * delete can depend on a node's version, but not on its czxid.  So we mark the node first,
 * by writing to it.  That gives it a version which a new claim does not have, and the
 * answer shows whose it is:
 *
 *     read --ours--> mark --ours--> delete of that version
 *       ^              |               |
 *       +--changed-----+---------------+     an ASK has written into it
 *
 * Not there, or another's: HF_ZK_NO_NODE.  Who may not read or write the node, but delete
 * in the folder, deletes without a mark: EXISTS --ours--> delete of that version.
 *
 * Two races are left.  A mark may meet the next claim, if both are of version 0: then our
 * note is in that claim until it is released.  And a delete may take the next claim, if
 * ours is broken while the delete is under way, and an ASK has brought the new one to the
 * same version.  Without a mark that version may be 0.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>

enum { STEP, READ = 2 }; /* call[] */

/* ---- Reading ------------------------------------------------------------------------------- */

static void on_claim_read(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;
    struct hf_zk_stat  stat = { 0 };

    (void)zk;
    hf_zk_get_text(&reply->body);
    hf_zk_get_stat(&reply->body, &stat);
    task->line->claim = reply->error == 0 ? (uint64_t)stat.czxid : 0;
}

void hf_zk_claim_read(struct hf_zk *zk, struct hf_zk_task *task)
{
    char path[HF_ZK_PATH_MAX];

    hf_zk_path(task->line, "claim", path);
    hf_zk_call_get(zk, &task->call[READ], HF_ZK_GET_DATA, path, false, on_claim_read,
                   task);
}

/* ---- Deleting ------------------------------------------------------------------------------ */

static void read_to_mark(struct hf_zk *zk, struct hf_zk_task *task);

static void on_claim_gone(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;

    if (reply->error == HF_ZK_CONNECTION_LOSS && task->ticket != NULL)
        task->ticket->leaving = true;
    if (reply->error == HF_ZK_BAD_VERSION)
        read_to_mark(zk, task);
    else
        task->on_claim(zk, task, reply->error);
}

static void delete_claim(struct hf_zk *zk, struct hf_zk_task *task,
                         const struct hf_zk_stat *stat)
{
    char path[HF_ZK_PATH_MAX];

    if ((uint64_t)stat->czxid != task->claim) { /* it changed hands meanwhile */
        task->on_claim(zk, task, HF_ZK_NO_NODE);
        return;
    }
    hf_zk_path(task->line, "claim", path);
    hf_zk_call_delete(zk, &task->call[STEP], path, stat->version, on_claim_gone, task);
}

static void on_claim_exists(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;
    struct hf_zk_stat  stat;

    if (reply->error != 0) {
        task->on_claim(zk, task, reply->error);
        return;
    }
    hf_zk_get_stat(&reply->body, &stat);
    delete_claim(zk, task, &stat);
}

/* We may not read or write it: that much needs no right. */
static void delete_unread(struct hf_zk *zk, struct hf_zk_task *task)
{
    char path[HF_ZK_PATH_MAX];

    hf_zk_path(task->line, "claim", path);
    hf_zk_call_get(zk, &task->call[STEP], HF_ZK_EXISTS, path, false, on_claim_exists,
                   task);
}

static void on_claim_marked(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;
    struct hf_zk_stat  stat;

    switch (reply->error) {
    case HF_ZK_OK:
        hf_zk_get_stat(&reply->body, &stat);
        delete_claim(zk, task, &stat);
        break;
    case HF_ZK_BAD_VERSION:
        read_to_mark(zk, task);
        break;
    case HF_ZK_NO_AUTH:
        delete_unread(zk, task);
        break;
    default:
        task->on_claim(zk, task, reply->error);
    }
}

static void on_claim_to_mark(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;
    struct hf_zk_stat  stat;
    char               path[HF_ZK_PATH_MAX];

    if (reply->error == HF_ZK_NO_AUTH) {
        delete_unread(zk, task);
        return;
    }
    if (reply->error != 0) {
        task->on_claim(zk, task, reply->error);
        return;
    }
    struct hf_zk_text text = hf_zk_get_text(&reply->body);
    hf_zk_get_stat(&reply->body, &stat);
    if ((uint64_t)stat.czxid != task->claim) {
        task->on_claim(zk, task, HF_ZK_NO_NODE);
        return;
    }
    hf_zk_path(task->line, "claim", path);
    hf_zk_call_set(zk, &task->call[STEP], path, text.bytes, text.size, stat.version,
                   on_claim_marked, task);
}

static void read_to_mark(struct hf_zk *zk, struct hf_zk_task *task)
{
    char path[HF_ZK_PATH_MAX];

    hf_zk_path(task->line, "claim", path);
    hf_zk_call_get(zk, &task->call[STEP], HF_ZK_GET_DATA, path, false, on_claim_to_mark,
                   task);
}

void hf_zk_claim_delete(struct hf_zk *zk, struct hf_zk_task *task, uint64_t seq,
                        void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                                     int error))
{
    assert(!task->call[STEP].flying && then != NULL);
    task->claim = seq;
    task->on_claim = then;
    read_to_mark(zk, task);
}
