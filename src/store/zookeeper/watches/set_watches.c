/* set_watches.c - sets watches: one SET_WATCHES for all that one turn needs.
 *
 * SET_WATCHES is meant for new connections, but a server accepts it at any time.  It
 * names many paths, and one zxid up to which we know them.  If a node does not exist, or
 * has changed since that zxid, the server sends an event before the answer.  We send the
 * latest zxid that any of the paths asks for: with an earlier one, every node created
 * since would count as changed.  So a change may be missed, which NEWS_SET reports
 * (zk->seen.gap).  Folders are only sent together with folders of the same zxid.
 */
#include "store/zookeeper/watches/watched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 512                  /* paths of a message */
#define BYTES_MAX ((size_t)128 * 1024) /* servers refuse 1 MB */

struct batch {
    struct hf_zk_call     call;
    size_t                count, bytes;
    int64_t               as_of;
    struct hf_zk_watched *watched[BATCH_MAX];
};

/* ---- The call ----------------------------------------------------------------------- */

static void on_batch_set(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct batch *batch = data;

    /* A listener of one path may end others: those stay until they are settled, too. */
    for (size_t i = 0; i < batch->count; i++)
        hf_zk_watched_settle(zk, batch->watched[i], reply->error, batch->as_of);
    free(batch);
}

enum list { DATA, EXIST, CHILD, LISTS };

static enum list list_of(const struct hf_zk_watched *watched)
{
    if (watched->kind == HF_ZK_WATCHED_DATA)
        return DATA;
    return hf_zk_watched_is_absent(watched) ? EXIST : CHILD;
}

static void put_list(struct hf_zk *zk, const struct batch *batch, enum list list)
{
    int32_t count = 0;

    for (size_t i = 0; i < batch->count; i++)
        count += list_of(batch->watched[i]) == list;
    hf_zk_put_int(&zk->calls.out, count);
    for (size_t i = 0; i < batch->count; i++)
        if (list_of(batch->watched[i]) == list)
            hf_zk_put_string(&zk->calls.out, batch->watched[i]->path);
}

static void send_batch(struct hf_zk *zk, struct batch *batch)
{
    assert(batch->count > 0);
    hf_zk_call_begin(zk, &batch->call, HF_ZK_SET_WATCHES, on_batch_set, batch);
    if (batch->as_of == 0)
        batch->as_of = HF_ZK_ITS_END;
    hf_zk_put_long(&zk->calls.out, batch->as_of);
    for (int list = 0; list < LISTS; list++)
        put_list(zk, batch, (enum list)list);
    hf_zk_call_end(zk);
}

/* ---- Batches ------------------------------------------------------------------------ */

static bool has_room(const struct batch *batch, const struct hf_zk_watched *watched)
{
    if (batch->count == 0)
        return true;
    if (batch->count == BATCH_MAX || batch->bytes >= BYTES_MAX)
        return false;
    bool folders = batch->watched[0]->kind == HF_ZK_WATCHED_CHILDREN;
    bool folder = watched->kind == HF_ZK_WATCHED_CHILDREN;
    return folder ? folders && watched->as_of == batch->as_of : !folders;
}

static void add_to_batch(struct batch *batch, struct hf_zk_watched *watched)
{
    hf_zk_watched_become(watched, HF_ZK_WATCH_SENT);
    watched->early = HF_ZK_NEWS_SET;
    if (watched->as_of != HF_ZK_ITS_END && watched->as_of > batch->as_of)
        batch->as_of = watched->as_of;
    batch->bytes += strlen(watched->path);
    batch->watched[batch->count++] = watched;
}

static void fill_batch(struct hf_zk *zk, struct batch *batch)
{
    struct hf_zk_watched *watched, *rest = NULL;

    while ((watched = zk->watched.queued) != NULL) {
        assert(watched->state == HF_ZK_WATCH_QUEUED);
        zk->watched.queued = watched->next_queued;
        if (watched->listeners == NULL) {
            hf_zk_watched_remove(zk, watched);
        } else if (has_room(batch, watched)) {
            add_to_batch(batch, watched);
        } else {
            watched->next_queued = rest;
            rest = watched;
        }
    }
    zk->watched.queued = rest;
}

void hf_zk_watched_flush(struct hf_zk *zk)
{
    assert(zk->dial.phase == HF_DIAL_READY);
    while (zk->watched.queued != NULL && zk->remote.now >= zk->watched.retry) {
        struct batch *batch = calloc(1, sizeof *batch);
        if (batch == NULL) {
            zk->watched.retry = zk->remote.now + HF_ZK_RETRY;
            return;
        }
        fill_batch(zk, batch);
        if (batch->count > 0)
            send_batch(zk, batch);
        else
            free(batch);
    }
}

/* ---- New connections, lost sessions ------------------------------------------------- */

void hf_zk_watched_restore(struct hf_zk *zk)
{
    assert(zk->dial.phase == HF_DIAL_READY && zk->link.session != 0);
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++) {
        for (struct hf_zk_watched *w = zk->watched.bucket[i]; w != NULL; w = w->next) {
            assert(w->state == HF_ZK_WATCH_QUEUED || w->state == HF_ZK_WATCH_SET);
            if (w->state == HF_ZK_WATCH_QUEUED)
                continue;
            if (w->as_of != HF_ZK_ITS_END)
                w->as_of = zk->link.zxid;
            hf_zk_watched_queue(zk, w);
        }
    }
}

void hf_zk_watched_drop(struct hf_zk *zk)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++) {
        while (zk->watched.bucket[i] != NULL) {
            struct hf_zk_watched *watched = zk->watched.bucket[i];
            zk->watched.bucket[i] = watched->next;
            assert(!watched->call.flying && !watched->notifying);
            zk->watched.count--;
            for (struct hf_zk_listener *l = watched->listeners; l != NULL; l = l->next)
                l->watched = NULL;
            free(watched);
        }
    }
    zk->watched.queued = NULL;
    assert(zk->watched.count == 0);
}
