/* items.c - what gather.c has read: sorted, put together, searched. */
#include "base/grow.h"
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_item(struct hf_zk_item *item)
{
    free(item->line);
    free(item->path);
    free(item->note);
    free(item->text);
}

bool hf_zk_items_add(struct hf_zk_items *items, const char *line, const char *folder,
                     struct hf_zk_text name, const struct hf_zk_child *child)
{
    struct hf_zk_item  item = { .slot = -1 };
    struct hf_zk_item *grown =
        hf_grow(items->item, &items->room, items->count + 1, sizeof *grown);

    if (grown != NULL)
        items->item = grown;
    if (asprintf(&item.path, "%s%s%.*s", folder, name.size > 0 ? "/" : "", (int)name.size,
                 name.size > 0 ? name.bytes : "") < 0)
        item.path = NULL;
    if (line != NULL)
        item.line = strdup(line);
    if (grown == NULL || item.path == NULL || (line != NULL && item.line == NULL)) {
        free_item(&item);
        return false;
    }
    if (child != NULL) {
        item.child = *child;
        item.seq = hf_zk_child_seq(child);
        item.name = item.path + strlen(folder) + 1;
    }
    items->item[items->count++] = item;
    return true;
}

static int by_line_and_seq(const void *a, const void *b)
{
    const struct hf_zk_item *x = a, *y = b;
    int                      r = strcmp(x->line, y->line);

    if (r != 0)
        return r;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_slot_of(const struct hf_zk_item *slot, const struct hf_zk_item *place)
{
    if (strcmp(place->line, slot->line) != 0)
        return false;
    if (slot->child.style == HF_ZK_CLAIM) /* they are made in one transaction */
        return hf_zk_child_claims(&place->child) && place->token == slot->token;
    return place->child.style != HF_ZK_SLOT && slot->text != NULL &&
           strlen(slot->text) == HF_ZK_UUID &&
           hf_zk_child_is(place->name, strlen(place->name), slot->text);
}

/* Slots and `claim` are no places but belong to one; but see enter.c. */
static void give_slots(struct hf_zk_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        struct hf_zk_item *slot = &items->item[i];
        bool               is_slot = slot->child.style == HF_ZK_SLOT;
        if (!is_slot && slot->child.style != HF_ZK_CLAIM)
            continue;
        slot->there = !is_slot;
        for (size_t k = 0; k < items->count; k++) {
            struct hf_zk_item *item = &items->item[k];
            if (!is_slot_of(slot, item))
                continue;
            item->beside = slot->name;
            item->slot = is_slot ? (int)slot->child.number : -1;
            slot->there = false;
        }
    }
}

/* kazoo's mutexes are writers where there are readers. */
static void agree_on_shapes(struct hf_zk_items *items)
{
    for (size_t i = 0, end; i < items->count; i = end) {
        const struct hf_shape *shared = NULL;
        for (end = i; end < items->count &&
                      strcmp(items->item[end].line, items->item[i].line) == 0;
             end++)
            if (items->item[end].child.shape.capacity == HF_ALL)
                shared = &items->item[end].child.shape;
        for (size_t k = i; k < end; k++)
            items->item[k].child.shape = hf_zk_shape_to(&items->item[k].child, shared);
    }
}

/* Only children that were there when they were read. */
static void drop_others(struct hf_zk_items *items)
{
    size_t count = 0;

    for (size_t i = 0; i < items->count; i++)
        if (items->item[i].there)
            items->item[count++] = items->item[i];
        else
            free_item(&items->item[i]);
    items->count = count;
}

void hf_zk_items_arrange(struct hf_zk_items *items)
{
    drop_others(items);
    if (items->count > 0)
        qsort(items->item, items->count, sizeof *items->item, by_line_and_seq);
    give_slots(items);
    agree_on_shapes(items);
}

const struct hf_zk_item *hf_zk_items_find(const struct hf_zk_items *items,
                                          const struct hf_req      *req)
{
    assert(req->token != 0);
    for (size_t i = 0; i < items->count; i++) {
        const struct hf_zk_item *item = &items->item[i];
        if (item->there && item->token == req->token)
            return item;
    }
    return NULL;
}

struct hf_ticket *hf_zk_items_tickets(const struct hf_zk_items *items, size_t *count)
{
    struct hf_ticket *ticket = calloc(items->count + 1, sizeof *ticket);

    *count = 0;
    for (size_t i = 0; ticket != NULL && i < items->count; i++) {
        const struct hf_zk_item *item = &items->item[i];
        if (!item->there)
            continue;
        ticket[(*count)++] = (struct hf_ticket){ .seq = item->seq,
                                                 .token = item->token,
                                                 .shape = item->child.shape,
                                                 .slot = item->slot,
                                                 .since = item->since,
                                                 .line = item->line,
                                                 .note = item->note };
    }
    return ticket;
}

void hf_zk_items_finish(struct hf_zk_items *items)
{
    for (size_t i = 0; i < items->count; i++)
        free_item(&items->item[i]);
    free(items->item);
    *items = (struct hf_zk_items){ 0 };
}
