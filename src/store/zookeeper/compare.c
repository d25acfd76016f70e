/* compare.c - does the server that we use show what the others do not have?
 *
 * Whoever waits goes by what one server shows.  Should that server have kept a node that was
 * deleted (after a crash with data lost, or by a fault of its own), its end would be waited
 * for in vain, without a word.  So the nodes that we listen to are compared once in a
 * session's time, 64 of them by one call:
 *
 *     check     the leader says whether they are there.  The answer comes through our
 *               server, behind all that was done before, and so behind the news of a node
 *               that is gone
 *     exists    of a node that is gone without news: our server says whether it is there
 *
 * If it is there, and older than the check, the server differs from the others.  Whoever
 * waits for the node is told that it is gone, and looks again: at another server, or at none,
 * if the URL names no other.  Then it is told why.
 */
#include "store/zookeeper/watched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKS 64

struct comparison {
    struct hf_zk_call call;
    int64_t           zxid; /* of the check */
    size_t            count;
    char             *path[CHECKS];
};

static void end_comparison(struct hf_zk *zk, struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->count; i++)
        free(comparison->path[i]);
    free(comparison);
    zk->compare.flying = false;
}

static bool is_listened_to(struct hf_zk *zk, const char *path)
{
    const struct hf_zk_watched *watched =
        hf_zk_watched_find(zk, HF_ZK_WATCHED_DATA, path, strlen(path));

    return watched != NULL && watched->state == ARMED;
}

/* The first path is the one. */
static void on_ghost_read(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct comparison *comparison = data;
    const char        *path = comparison->path[0];
    struct hf_zk_text  text = { .bytes = path, .size = strlen(path) };
    struct hf_zk_stat  stat;
    char               why[HF_ERRMSG_MAX];

    hf_zk_get_stat(&reply->body, &stat);
    bool shown = reply->error == 0 && stat.czxid < comparison->zxid;
    if (shown || reply->error == HF_ZK_NO_NODE) /* without news: it was hidden, perhaps */
        hf_zk_watched_event(zk, HF_ZK_EVENT_DELETED, text);
    if (shown) {
        snprintf(
            why, sizeof why,
            "shows a node that the other servers do not have, %.120s: stop it, empty "
            "its data folder, start it again",
            path);
        hf_dial_deny(&zk->dial, HF_ECORRUPT, why);
    }
    end_comparison(zk, comparison);
}

static void on_compared(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct comparison *comparison = data;
    size_t             i = 0;

    while (i < comparison->count && hf_zk_multi_error(reply, i) != HF_ZK_NO_NODE)
        i++;
    if (reply->error != HF_ZK_NO_NODE || i == comparison->count ||
        !is_listened_to(zk, comparison->path[i])) {
        end_comparison(zk, comparison);
        return;
    }
    char *path = comparison->path[i];
    comparison->path[i] = comparison->path[0];
    comparison->path[0] = path;
    comparison->zxid = reply->zxid;
    hf_zk_call_get(zk, &comparison->call, HF_ZK_EXISTS, path, false, on_ghost_read,
                   comparison);
}

/* Go round among them. */
static void choose_compared(struct hf_zk *zk, struct comparison *comparison)
{
    size_t from = zk->compare.after + 1;

    for (size_t i = 0; i < HF_ZK_BUCKETS && comparison->count < CHECKS; i++) {
        zk->compare.after = (from + i) % HF_ZK_BUCKETS;
        for (const struct hf_zk_watched *w = zk->watched.bucket[zk->compare.after];
             w != NULL && comparison->count < CHECKS; w = w->next) {
            if (w->kind != HF_ZK_WATCHED_DATA || w->state != ARMED)
                continue;
            if ((comparison->path[comparison->count] = strdup(w->path)) != NULL)
                comparison->count++;
        }
    }
}

static void send_comparison(struct hf_zk *zk)
{
    struct comparison *comparison = calloc(1, sizeof *comparison);
    if (comparison == NULL)
        return;
    choose_compared(zk, comparison);
    if (comparison->count == 0) {
        end_comparison(zk, comparison);
        return;
    }
    zk->compare.flying = true;
    hf_zk_multi_begin(zk, &comparison->call, on_compared, comparison);
    for (size_t i = 0; i < comparison->count; i++)
        hf_zk_multi_check(zk, comparison->path[i]);
    hf_zk_multi_end(zk);
}

void hf_zk_compare_run(struct hf_zk *zk)
{
    bool idle =
        zk->dial.phase != HF_DIAL_READY || zk->watched.count == 0 || zk->compare.flying;

    if (!idle && zk->remote.now < zk->compare.due)
        return;
    zk->compare.due = zk->remote.now + zk->link.timeout;
    if (!idle)
        send_comparison(zk);
}

hf_time hf_zk_compare_wake(const struct hf_zk *zk)
{
    bool idle = zk->dial.phase != HF_DIAL_READY || zk->watched.count == 0;

    return idle ? HF_NEVER : zk->compare.due;
}
