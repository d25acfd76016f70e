/* companion.c - the node slot-N or `claim` that belongs to a place of ours, and goes with it.
 *
 * It is created in one transaction with its place, or with a check that the place exists,
 * and deleted in one transaction with it.  But BREAK may have looked before there was a
 * slot, and other programs delete the place alone.  Then the companion is an orphan, in
 * the way of others for as long as our session lives.  So as soon as we know that the
 * place is gone, we delete it:
 *
 *     own->companion --the place is gone--> zk->orphans --deleted, or not there--> freed
 *                                             |     ^
 *                                             +-----+ the connection broke: again
 *
 * Somebody may have deleted it already, and it may belong to another place by now, so it
 * is read first.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hf_zk_companion_ready(struct hf_zk_own *own)
{
    static const char longest[] = "/slot-4294967295";
    size_t            room = strlen(own->line->folder) + sizeof longest;

    if (own->companion != NULL)
        return true;
    struct hf_zk_companion *companion = calloc(1, sizeof *companion + room);
    if (companion == NULL)
        return false;
    companion->room = room;
    companion->where = HF_ZK_NOWHERE;
    companion->slot = -1;
    memcpy(companion->uuid, own->uuid, sizeof companion->uuid);
    own->companion = companion;
    return true;
}

void hf_zk_companion_put(struct hf_zk *zk, struct hf_zk_own *own, int slot)
{
    struct hf_zk_companion *companion = own->companion;
    char                    child[32] = "claim";

    assert(companion != NULL && companion->where == HF_ZK_NOWHERE);
    assert(own->shape.claim == (slot < 0));
    if (slot >= 0)
        snprintf(child, sizeof child, "slot-%d", slot);
    snprintf(companion->path, companion->room, "%s/%s", own->line->folder, child);
    companion->slot = slot;
    companion->where = HF_ZK_UNSURE;
    hf_zk_multi_create(zk, companion->path, companion->uuid, HF_ZK_EPHEMERAL);
}

const char *hf_zk_own_companion(const struct hf_zk_own *own)
{
    const struct hf_zk_companion *companion = own->companion;

    return companion != NULL && companion->where == HF_ZK_THERE ? companion->path : NULL;
}

int hf_zk_own_slot(const struct hf_zk_own *own)
{
    return hf_zk_own_companion(own) != NULL ? own->companion->slot : -1;
}

bool hf_zk_is_uuid_read(struct hf_zk_reply *reply, const char *uuid)
{
    struct hf_zk_text text = hf_zk_get_text(&reply->body);

    return reply->error == 0 && text.size == HF_ZK_UUID &&
           memcmp(text.bytes, uuid, HF_ZK_UUID) == 0;
}

/* ---- Orphans ------------------------------------------------------------------------ */

static void orphan_free(struct hf_zk *zk, struct hf_zk_companion *orphan)
{
    struct hf_zk_companion **at = &zk->orphans;

    assert(!orphan->call.flying);
    while (*at != orphan) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = orphan->next;
    free(orphan);
}

static void on_orphan_deleted(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    if (reply->error != HF_ZK_CONNECTION_LOSS)
        orphan_free(zk, data);
}

static void on_orphan_read(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_companion *orphan = data;

    if (reply->error == HF_ZK_CONNECTION_LOSS)
        return;
    if (hf_zk_is_uuid_read(reply, orphan->uuid))
        hf_zk_call_delete(zk, &orphan->call, orphan->path, on_orphan_deleted, orphan);
    else
        orphan_free(zk, orphan);
}

static void read_orphan(struct hf_zk *zk, struct hf_zk_companion *orphan)
{
    hf_zk_call_get(zk, &orphan->call, HF_ZK_GET_DATA, orphan->path, on_orphan_read,
                   orphan);
}

void hf_zk_own_orphan(struct hf_zk *zk, struct hf_zk_own *own)
{
    struct hf_zk_companion *companion = own->companion;

    own->companion = NULL;
    if (companion == NULL || companion->where == HF_ZK_NOWHERE) {
        free(companion);
        return;
    }
    companion->next = zk->orphans;
    zk->orphans = companion;
    if (zk->dial.phase == HF_DIAL_READY)
        read_orphan(zk, companion);
}

void hf_zk_orphans_resume(struct hf_zk *zk)
{
    for (struct hf_zk_companion *orphan = zk->orphans; orphan != NULL;
         orphan = orphan->next)
        read_orphan(zk, orphan);
}

void hf_zk_orphans_drop(struct hf_zk *zk)
{
    while (zk->orphans != NULL)
        orphan_free(zk, zk->orphans);
}
