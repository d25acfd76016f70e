/* together.c - nodes that are to be watched, in one call for all of one turn.
 *
 * SET_WATCHES is meant for new connections (restore.c), but a server takes it at any time:
 * so many paths, and one zxid as of which we know them.  A node that is not there, or that
 * changed since, is told by an event in front of the answer.  Unlike a read it says nothing
 * of a node that we may not read, and never will: whoever depends on its news has it read,
 * too.
 */
#include "store/zookeeper/watched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 512 /* paths of a message */

struct batch {
    struct hf_zk_call     call;
    size_t                count, bytes;
    int64_t               as_of;
    struct hf_zk_watched *watched[BATCH_MAX];
};

int hf_zk_listen_as_of(struct hf_zk *zk, struct hf_zk_listener *listener,
                       const char *path, int64_t zxid)
{
    bool                  fresh;
    struct hf_zk_watched *watched =
        hf_zk_listener_join(zk, listener, HF_ZK_WATCHED_DATA, path, &fresh);

    if (watched == NULL)
        return HF_ENOMEM;
    if (!fresh)
        return 0;
    hf_zk_watched_set(watched, QUEUED);
    if (zk->watched.queued == NULL || zxid > zk->watched.as_of)
        zk->watched.as_of = zxid;
    watched->next_queued = zk->watched.queued;
    zk->watched.queued = watched;
    return 0;
}

/* ---- The call ------------------------------------------------------------------------- */

static void on_batch_armed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct batch *batch = data;

    /* Those told of one may end others: they stay until they were settled, too. */
    for (size_t i = 0; i < batch->count; i++)
        hf_zk_watched_settle(zk, batch->watched[i], reply->error, batch->as_of);
    free(batch);
}

static void send_batch(struct hf_zk *zk, struct batch *batch)
{
    struct hf_zk_writer *out = &zk->calls.out;
    size_t               begin =
        hf_zk_call_begin(zk, &batch->call, HF_ZK_SET_WATCHES, on_batch_armed, batch);

    assert(batch->count > 0);
    hf_zk_put_long(out, batch->as_of = zk->watched.as_of);
    hf_zk_put_int(out, (int32_t)batch->count);
    for (size_t i = 0; i < batch->count; i++)
        hf_zk_put_string(out, batch->watched[i]->path);
    hf_zk_put_int(out, 0); /* nodes that are not there */
    hf_zk_put_int(out, 0); /* folders */
    hf_zk_call_end(zk, begin);
}

/* The next that somebody still listens to; NULL: no more. */
static struct hf_zk_watched *next_queued(struct hf_zk *zk)
{
    struct hf_zk_watched *watched;

    while ((watched = zk->watched.queued) != NULL) {
        assert(watched->state == QUEUED);
        zk->watched.queued = watched->next_queued;
        hf_zk_watched_set(watched, WANTED);
        if (watched->listeners != NULL)
            return watched;
        hf_zk_watched_remove(zk, watched);
    }
    return NULL;
}

static bool has_room(const struct batch *batch)
{
    return batch == NULL ||
           (batch->count < BATCH_MAX && batch->bytes < HF_ZK_SET_WATCHES_MAX);
}

static void add_to_batch(struct batch *batch, struct hf_zk_watched *watched)
{
    hf_zk_watched_set(watched, ARMING);
    watched->batched = watched->blind = true;
    watched->heard = HF_ZK_NEWS_ARMED; /* nothing else */
    batch->bytes += strlen(watched->path);
    batch->watched[batch->count++] = watched;
}

static void flush_batch(struct hf_zk *zk)
{
    struct batch         *batch = calloc(1, sizeof *batch);
    struct hf_zk_watched *watched;

    while (has_room(batch) && (watched = next_queued(zk)) != NULL) {
        if (batch == NULL) {
            hf_zk_watched_arm(zk, watched); /* one by one, then */
            continue;
        }
        add_to_batch(batch, watched);
    }
    if (batch != NULL && batch->count > 0)
        send_batch(zk, batch);
    else
        free(batch);
}

void hf_zk_watched_flush(struct hf_zk *zk)
{
    assert(zk->dial.phase == HF_DIAL_READY);
    while (zk->watched.queued != NULL)
        flush_batch(zk);
}
