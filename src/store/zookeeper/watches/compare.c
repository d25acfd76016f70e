/* compare.c - does our server show nodes that the other servers do not have?
 *
 * A waiter relies on what one server shows.  If that server kept a node that was deleted
 * (it lost data in a crash, or has a bug of its own), the waiter would wait forever.  So
 * the watched nodes are compared once per session timeout, 64 of them by one call:
 *
 *     check     The leader says whether they exist.  The answer comes through our server,
 *               after everything that was done before, and so after the event about a
 *               deleted node.
 *     exists    For a node that is gone without an event, our server says whether it shows
 *               it.
 *
 * If our server shows it, and it is older than the check, then the server differs from
 * the others.  Everything that it listed is forgotten, and every waiter lists again:
 * from another server, or from none if the URL names no other.  The store's message then
 * says why.
 */
#include "store/zookeeper/watches/watched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void forget_paths(struct hf_zk_compare *compare)
{
    while (compare->count > 0)
        free(compare->path[--compare->count]);
}

static bool is_listened_to(struct hf_zk *zk, const char *path)
{
    const struct hf_zk_watched *watched =
        hf_zk_watched_find(zk, HF_ZK_WATCHED_DATA, path, strlen(path));

    return watched != NULL && watched->state == HF_ZK_WATCH_SET;
}

/* The first path is the missing node. */
static void on_missing_read(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_compare *compare = data;
    const char           *path = compare->path[0];
    struct hf_zk_text     text = { .bytes = path, .size = strlen(path) };
    struct hf_zk_stat     stat;
    char                  why[HF_ERRMSG_MAX];

    hf_zk_get_stat(&reply->body, &stat);
    bool shown = reply->error == 0 && stat.czxid < compare->zxid;
    if (reply->error == HF_ZK_NO_NODE) /* no event came: perhaps it was unreadable */
        hf_zk_watched_event(zk, HF_ZK_EVENT_DELETED, text);
    if (shown) {
        hf_zk_wait_forget(zk);
        snprintf(
            why, sizeof why,
            "shows a node that the other servers do not have, %.120s: stop it, empty "
            "its data folder, start it again",
            path);
        hf_dial_deny(&zk->dial, HF_ECORRUPT, why);
    }
    forget_paths(compare);
}

static void on_compared(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_compare *compare = data;
    size_t                i = 0;

    while (i < compare->count && hf_zk_multi_error(reply, i) != HF_ZK_NO_NODE)
        i++;
    if (reply->error != HF_ZK_NO_NODE || i == compare->count ||
        !is_listened_to(zk, compare->path[i])) {
        forget_paths(compare);
        return;
    }
    char *path = compare->path[i];
    compare->path[i] = compare->path[0];
    compare->path[0] = path;
    compare->zxid = reply->zxid;
    hf_zk_call_get(zk, &compare->call, HF_ZK_EXISTS, path, on_missing_read, compare);
}

/* Continue where the last comparison ended. */
static void choose_compared(struct hf_zk *zk)
{
    struct hf_zk_compare *compare = &zk->compare;
    size_t                from = compare->after + 1;

    for (size_t i = 0; i < HF_ZK_BUCKETS && compare->count < HF_ZK_COMPARED; i++) {
        compare->after = (from + i) % HF_ZK_BUCKETS;
        for (const struct hf_zk_watched *w = zk->watched.bucket[compare->after];
             w != NULL && compare->count < HF_ZK_COMPARED; w = w->next) {
            if (w->kind != HF_ZK_WATCHED_DATA || w->state != HF_ZK_WATCH_SET)
                continue;
            if ((compare->path[compare->count] = strdup(w->path)) != NULL)
                compare->count++;
        }
    }
}

void hf_zk_compare_run(struct hf_zk *zk)
{
    struct hf_zk_compare *compare = &zk->compare;

    compare->due = zk->remote.now + zk->link.timeout;
    if (compare->count > 0)
        return; /* the last one is still in flight */
    choose_compared(zk);
    if (compare->count == 0)
        return;
    hf_zk_multi_begin(zk, &compare->call, on_compared, compare);
    for (size_t i = 0; i < compare->count; i++)
        hf_zk_multi_check(zk, compare->path[i]);
    hf_zk_multi_end(zk);
}

hf_time hf_zk_compare_wake(const struct hf_zk *zk)
{
    bool idle = zk->dial.phase != HF_DIAL_READY || zk->watched.count == 0;

    return idle ? HF_NEVER : zk->compare.due;
}
