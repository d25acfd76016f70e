/* restore.c - watches when connections, and sessions, come and go.
 *
 * A new connection is told all that we watched, and from when on; what happened in
 * between it tells at once.
 */
#include "store/zookeeper/watched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum list { DATA, EXIST, CHILD };

static bool is_in_list(const struct hf_zk_watched *watched, enum list list)
{
    if (watched->kind == HF_ZK_WATCHED_DATA)
        return list == DATA;
    return list == (watched->bare ? EXIST : CHILD);
}

/* The paths of one list, in the buckets `from` to `to`: how many, and then each. */
static void put_paths(struct hf_zk *zk, enum list list, size_t from, size_t to)
{
    struct hf_zk_writer *out = &zk->calls.out;
    int32_t              count = 0;

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            hf_zk_put_int(out, count);
        for (size_t i = from; i < to; i++) {
            for (struct hf_zk_watched *w = zk->watched.bucket[i]; w != NULL;
                 w = w->next) {
                if (w->state != ARMED || !is_in_list(w, list))
                    continue;
                if (pass == 0)
                    count++;
                else
                    hf_zk_put_string(out, w->path);
            }
        }
    }
}

static size_t bucket_size(const struct hf_zk *zk, size_t index)
{
    size_t size = 0;

    for (struct hf_zk_watched *w = zk->watched.bucket[index]; w != NULL; w = w->next)
        if (w->state == ARMED)
            size += strlen(w->path) + 4;
    return size;
}

/* One message for the buckets `from` to `to`. */
static void restore_some(struct hf_zk *zk, size_t from, size_t to)
{
    struct hf_zk_writer *out = &zk->calls.out;
    size_t               begin = hf_zk_frame_begin(out);

    assert(from < to && to <= HF_ZK_BUCKETS);
    hf_zk_put_int(out, HF_ZK_XID_SET_WATCHES);
    hf_zk_put_int(out, HF_ZK_SET_WATCHES);
    hf_zk_put_long(out, zk->link.zxid);
    put_paths(zk, DATA, from, to);
    put_paths(zk, EXIST, from, to);
    put_paths(zk, CHILD, from, to);
    hf_zk_frame_end(out, begin);
    zk->watched.restoring++;
}

void hf_zk_watched_restored(struct hf_zk *zk)
{
    zk->watched.restoring -= zk->watched.restoring > 0;
}

static void arm_wanted(struct hf_zk *zk)
{
    zk->watched.again = HF_NEVER;
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++)
        for (struct hf_zk_watched *w = zk->watched.bucket[i]; w != NULL; w = w->next)
            if (w->state == WANTED)
                hf_zk_watched_arm(zk, w);
}

void hf_zk_watched_run(struct hf_zk *zk)
{
    if (zk->remote.now >= zk->watched.again && zk->dial.phase == HF_DIAL_READY)
        arm_wanted(zk);
}

void hf_zk_watched_restore(struct hf_zk *zk)
{
    size_t size = 0, from = 0;

    assert(zk->dial.phase == HF_DIAL_READY && zk->link.session != 0);
    zk->watched.restoring = 0;
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++) {
        size_t more = bucket_size(zk, i);
        if (size > 0 && size + more > HF_ZK_SET_WATCHES_MAX) {
            restore_some(zk, from, i);
            from = i;
            size = 0;
        }
        size += more;
    }
    if (size > 0)
        restore_some(zk, from, HF_ZK_BUCKETS);
    arm_wanted(zk);
}

void hf_zk_watched_drop(struct hf_zk *zk)
{
    for (size_t i = 0; i < HF_ZK_BUCKETS; i++) {
        while (zk->watched.bucket[i] != NULL) {
            struct hf_zk_watched *watched = zk->watched.bucket[i];
            zk->watched.bucket[i] = watched->next;
            assert(!watched->call.flying && !watched->telling);
            zk->watched.count--;
            for (struct hf_zk_listener *l = watched->listeners; l != NULL; l = l->next)
                l->watched = NULL;
            free(watched);
        }
    }
    zk->watched.queued = NULL;
    assert(zk->watched.count == 0);
}
