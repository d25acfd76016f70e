/* entries.c - the entries of a scan: sorted, matched, searched. */
#include "base/grow.h"
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_entry(struct hf_zk_entry *entry)
{
    free(entry->line);
    free(entry->path);
    free(entry->note);
    free(entry->text);
}

bool hf_zk_entries_add(struct hf_zk_entries *entries, const char *line,
                       const char *folder, struct hf_zk_text name,
                       const struct hf_zk_child *child)
{
    struct hf_zk_entry  entry = { .slot = -1 };
    struct hf_zk_entry *grown =
        hf_grow(entries->entry, &entries->room, entries->count + 1, sizeof *grown);

    if (grown != NULL)
        entries->entry = grown;
    if (asprintf(&entry.path, "%s%s%.*s", folder, name.size > 0 ? "/" : "",
                 (int)name.size, name.size > 0 ? name.bytes : "") < 0)
        entry.path = NULL;
    if (line != NULL)
        entry.line = strdup(line);
    if (grown == NULL || entry.path == NULL || (line != NULL && entry.line == NULL)) {
        free_entry(&entry);
        return false;
    }
    if (child != NULL) {
        entry.child = *child;
        entry.seq = hf_zk_child_seq(child);
        entry.name = entry.path + strlen(folder) + 1;
    }
    entries->entry[entries->count++] = entry;
    return true;
}

static int by_line_and_seq(const void *a, const void *b)
{
    const struct hf_zk_entry *x = a, *y = b;
    int                       r = strcmp(x->line, y->line);

    if (r != 0)
        return r;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_slot_of(const struct hf_zk_entry *slot, const struct hf_zk_entry *place)
{
    if (strcmp(place->line, slot->line) != 0)
        return false;
    if (slot->child.style == HF_ZK_CLAIM) /* both were created in one transaction */
        return hf_zk_child_claims(&place->child) && place->token == slot->token;
    return place->child.style != HF_ZK_SLOT && slot->text != NULL &&
           strlen(slot->text) == HF_ZK_UUID &&
           hf_zk_child_is(place->name, strlen(place->name), slot->text);
}

/* The listing shows one moment, and a place has its slot from within its own life.  A slot
 * that was made after the listing may belong to a place that it does not show. */
bool hf_zk_entries_is_orphan(const struct hf_zk_entries *entries,
                             const struct hf_zk_entry   *slot)
{
    if (slot->child.style != HF_ZK_SLOT || !slot->there || slot->unreadable ||
        slot->token > slot->listed)
        return false;
    for (size_t i = 0; i < entries->count; i++)
        if (entries->entry[i].name != NULL && is_slot_of(slot, &entries->entry[i]))
            return false;
    return true;
}

static void mark_orphans(struct hf_zk_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        struct hf_zk_entry *slot = &entries->entry[i];
        char               *note;
        if (!hf_zk_entries_is_orphan(entries, slot) ||
            asprintf(&note, "%s, which no place has", slot->name) < 0)
            continue;
        free(slot->note);
        slot->note = note;
        slot->orphan = true;
        slot->child.shape = hf_shape_read(0, 0, false);
        slot->seq = UINT64_MAX;
    }
}

/* Slots and `claim` belong to a place and are none themselves; for a lone `claim` see
 * enter.c. */
static void give_slots(struct hf_zk_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        struct hf_zk_entry *slot = &entries->entry[i];
        bool                is_slot = slot->child.style == HF_ZK_SLOT;
        if (!is_slot && slot->child.style != HF_ZK_CLAIM)
            continue;
        slot->there = !is_slot || slot->orphan;
        for (size_t k = 0; k < entries->count; k++) {
            struct hf_zk_entry *entry = &entries->entry[k];
            if (!is_slot_of(slot, entry))
                continue;
            entry->companion = slot->name;
            entry->slot = is_slot ? (int)slot->child.number : -1;
            slot->there = false;
        }
    }
}

/* In a line with readers, kazoo's mutexes are writers. */
static void agree_on_shapes(struct hf_zk_entries *entries)
{
    for (size_t i = 0, end; i < entries->count; i = end) {
        const struct hf_shape *shared = NULL;
        for (end = i; end < entries->count &&
                      strcmp(entries->entry[end].line, entries->entry[i].line) == 0;
             end++)
            if (entries->entry[end].child.shape.capacity == HF_ALL)
                shared = &entries->entry[end].child.shape;
        for (size_t k = i; k < end; k++)
            entries->entry[k].child.shape =
                hf_zk_shape_to(&entries->entry[k].child, shared);
    }
}

/* Keep only children that existed when they were read. */
static void drop_others(struct hf_zk_entries *entries)
{
    size_t count = 0;

    for (size_t i = 0; i < entries->count; i++)
        if (entries->entry[i].there)
            entries->entry[count++] = entries->entry[i];
        else
            free_entry(&entries->entry[i]);
    entries->count = count;
}

void hf_zk_entries_arrange(struct hf_zk_entries *entries)
{
    mark_orphans(entries);
    drop_others(entries);
    if (entries->count > 0)
        qsort(entries->entry, entries->count, sizeof *entries->entry, by_line_and_seq);
    give_slots(entries);
    agree_on_shapes(entries);
}

const struct hf_zk_entry *hf_zk_entries_find(const struct hf_zk_entries *entries,
                                             const struct hf_req        *req)
{
    assert(req->token != 0);
    for (size_t i = 0; i < entries->count; i++) {
        const struct hf_zk_entry *entry = &entries->entry[i];
        if (entry->there && entry->token == req->token)
            return entry;
    }
    return NULL;
}

struct hf_place *hf_zk_entries_places(const struct hf_zk_entries *entries, size_t *count)
{
    struct hf_place *places = calloc(entries->count + 1, sizeof *places);

    *count = 0;
    for (size_t i = 0; places != NULL && i < entries->count; i++) {
        const struct hf_zk_entry *entry = &entries->entry[i];
        if (!entry->there)
            continue;
        places[(*count)++] = (struct hf_place){ .seq = entry->seq,
                                                .token = entry->token,
                                                .shape = entry->child.shape,
                                                .slot = entry->slot,
                                                .since = entry->since,
                                                .line = entry->line,
                                                .note = entry->note };
    }
    return places;
}

void hf_zk_entries_finish(struct hf_zk_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        free_entry(&entries->entry[i]);
    free(entries->entry);
    *entries = (struct hf_zk_entries){ 0 };
}
