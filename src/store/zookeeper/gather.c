/* gather.c - every place of a line, or of all lines, with what is in it.
 *
 *     [the root] --> folders --> children --> their data
 *
 * A number of requests are in flight at a time; what goes away meanwhile is left out.
 * What we may not read is there all the same: its data is taken for empty.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 64

struct gather;

struct reader {
    struct hf_zk_call call;
    struct gather    *gather;
    size_t            index;
};

struct gather {
    struct hf_zk_task *task;
    void (*then)(struct hf_zk *, struct hf_zk_task *, const struct hf_zk_items *);
    char             **folder; /* names of locks */
    size_t             folders, folder_room;
    struct hf_zk_items items;
    size_t             item_room;
    size_t             next; /* to be asked for */
    size_t             flying;
    bool               reading; /* data, not folders */
    bool               missing; /* the one folder asked for */
    int                error;   /* the first one that matters, or HF_ENOMEM */
    struct reader      reader[WINDOW];
};

static void gather_free(void *data)
{
    struct gather *gather = data;

    for (size_t i = 0; i < gather->folders; i++)
        free(gather->folder[i]);
    for (size_t i = 0; i < gather->items.count; i++) {
        free(gather->items.item[i].line);
        free(gather->items.item[i].name);
        free(gather->items.item[i].note);
        free(gather->items.item[i].text);
    }
    free(gather->folder);
    free(gather->items.item);
    free(gather);
}

static bool add_folder(struct gather *gather, const char *name)
{
    if (gather->folders == gather->folder_room) {
        size_t room = gather->folder_room > 0 ? gather->folder_room * 2 : 16;
        char **grown = realloc(gather->folder, room * sizeof *grown);
        if (grown == NULL)
            return false;
        gather->folder = grown;
        gather->folder_room = room;
    }
    gather->folder[gather->folders] = strdup(name);
    return gather->folder[gather->folders] != NULL && ++gather->folders > 0;
}

static bool add_item(struct gather *gather, const char *line, struct hf_zk_text name)
{
    struct hf_zk_items *items = &gather->items;
    struct hf_zk_child  child;

    hf_zk_child_parse(name.bytes, name.size, &child);
    if (child.style == HF_ZK_FOREIGN)
        return true;
    if (items->count == gather->item_room) {
        size_t             room = gather->item_room > 0 ? gather->item_room * 2 : 16;
        struct hf_zk_item *grown = realloc(items->item, room * sizeof *grown);
        if (grown == NULL)
            return false;
        items->item = grown;
        gather->item_room = room;
    }
    struct hf_zk_item *item = &items->item[items->count];
    *item = (struct hf_zk_item){ .child = child, .slot = -1 };
    item->seq = (uint64_t)(uint32_t)child.number + 1;
    item->line = strdup(line);
    item->name = strndup(name.bytes, name.size);
    items->count++;
    return item->line != NULL && item->name != NULL;
}

/* ---- Putting it together ----------------------------------------------------------------- */

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

/* Slots belong to the places whose uuid is in them. */
static void give_slots(struct hf_zk_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        const struct hf_zk_item *slot = &items->item[i];
        if (slot->child.style != HF_ZK_SLOT || slot->text == NULL ||
            strlen(slot->text) != HF_ZK_UUID)
            continue;
        for (size_t k = 0; k < items->count; k++) {
            struct hf_zk_item *item = &items->item[k];
            if (item->child.style != HF_ZK_SLOT && strcmp(item->line, slot->line) == 0 &&
                hf_zk_child_is(item->name, strlen(item->name), slot->text))
                item->slot = (int)slot->child.number;
        }
    }
}

/* kazoo's mutexes are writers where there are readers. */
static void agree(struct hf_zk_items *items)
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

static void finish(struct hf_zk *zk, struct gather *gather)
{
    struct hf_zk_task *task = gather->task;

    if (gather->error == HF_ENOMEM) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    if (gather->error == HF_ZK_NO_NODE) {
        hf_task_finish(&task->base, hf_zk_chroot_fail(zk));
        return;
    }
    if (gather->error != 0) {
        hf_task_finish(&task->base, hf_zk_fault(zk, gather->error, "list",
                                                task->line != NULL ? task->line->folder
                                                                   : zk->config.chroot));
        return;
    }
    if (gather->items.count > 0)
        qsort(gather->items.item, gather->items.count, sizeof *gather->items.item,
              by_line_and_seq);
    give_slots(&gather->items);
    agree(&gather->items);
    gather->then(zk, task, &gather->items);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void go_on(struct hf_zk *zk, struct gather *gather);
static void ask(struct hf_zk *zk, struct gather *gather, struct reader *reader,
                size_t index);

/* "note\nasked=...\ntoken=...\nheld=...": the note is up to the first line's end. */
static bool take_data(struct hf_zk_item *item, struct hf_zk_text data,
                      const struct hf_zk_stat *stat)
{
    item->text = strndup(data.bytes, data.size);
    if (item->text == NULL)
        return false;
    item->note = strndup(item->text, strcspn(item->text, "\n"));
    const char *token = strstr(item->text, "\ntoken=");
    item->token = token != NULL ? strtoull(token + 7, NULL, 10) : (uint64_t)stat->czxid;
    if (item->child.shape.claim)
        item->seq = (uint64_t)stat->czxid;
    item->since = hf_zk_dated(item->text, stat);
    item->version = stat->version;
    item->there = true;
    return item->note != NULL;
}

/* True: ask once more, for we may not read it.  EXISTS needs no right, with most
 * servers; else nothing but its name is known. */
static bool read_item(struct gather *gather, struct reader *reader,
                      struct hf_zk_reply *reply)
{
    struct hf_zk_item *item = &gather->items.item[reader->index];
    struct hf_zk_stat  stat = { 0 };
    struct hf_zk_text  text = { "", 0 };

    if (reply->error == HF_ZK_NO_AUTH && !item->hidden) {
        item->hidden = true;
        return true;
    }
    if (!item->hidden)
        text = hf_zk_get_text(&reply->body);
    if (reply->error == 0)
        hf_zk_get_stat(&reply->body, &stat);
    if (!take_data(item, text, &stat))
        gather->error = HF_ENOMEM;
    return false;
}

static bool take_children(struct gather *gather, size_t index, struct hf_zk_reader *body)
{
    size_t            count = hf_zk_get_count(body, 4);
    struct hf_zk_stat stat;

    for (size_t i = 0; i < count; i++)
        if (!add_item(gather, gather->folder[index], hf_zk_get_text(body)))
            return false;
    hf_zk_get_stat(body, &stat);
    gather->items.stamp = (uint64_t)stat.pzxid;
    return true;
}

static void on_read(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct reader *reader = data;
    struct gather *gather = reader->gather;
    bool           one = gather->task->line != NULL && !gather->reading;
    bool           fatal = one || reply->error != HF_ZK_NO_AUTH;

    gather->flying--;
    if (reply->error == HF_ZK_NO_NODE) {
        gather->missing = one;
    } else if (reply->error != 0 && fatal) {
        gather->error = gather->error != 0 ? gather->error : reply->error;
    } else if (gather->reading && read_item(gather, reader, reply)) {
        ask(zk, gather, reader, reader->index);
        if (gather->error == 0)
            return;
    } else if (!gather->reading && reply->error == 0 &&
               !take_children(gather, reader->index, &reply->body)) {
        gather->error = HF_ENOMEM;
    }
    go_on(zk, gather);
}

static char *path_of(struct hf_zk *zk, const struct gather *gather, size_t index)
{
    char                     folder[HF_ZK_FOLDER_MAX];
    const struct hf_zk_item *item = gather->reading ? &gather->items.item[index] : NULL;
    char                    *path;

    hf_zk_folder(item != NULL ? item->line : gather->folder[index], folder);
    if (asprintf(&path, "%s/%s%s%s", zk->config.chroot, folder, item != NULL ? "/" : "",
                 item != NULL ? item->name : "") < 0)
        return NULL;
    return path;
}

static void ask(struct hf_zk *zk, struct gather *gather, struct reader *reader,
                size_t index)
{
    bool  hidden = gather->reading && gather->items.item[index].hidden;
    char *path = path_of(zk, gather, index);

    if (path == NULL) {
        gather->error = HF_ENOMEM;
        return;
    }
    reader->gather = gather;
    reader->index = index;
    gather->flying++;
    hf_zk_call_get(zk, &reader->call,
                   hidden            ? HF_ZK_EXISTS
                   : gather->reading ? HF_ZK_GET_DATA
                                     : HF_ZK_GET_CHILDREN2,
                   path, false, on_read, reader);
    free(path);
}

static void on_chroot(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct gather *gather = ((struct reader *)data)->gather;

    gather->flying--;
    gather->error = reply->error;
    finish(zk, gather);
}

/* No folder may mean that nobody has used the lock yet, or that the URL is wrong. */
static void look_for_chroot(struct hf_zk *zk, struct gather *gather)
{
    gather->flying++;
    hf_zk_call_get(zk, &gather->reader[0].call, HF_ZK_EXISTS, zk->config.chroot, false,
                   on_chroot, &gather->reader[0]);
}

static void go_on(struct hf_zk *zk, struct gather *gather)
{
    size_t total = gather->reading ? gather->items.count : gather->folders;

    if (gather->error == 0 && gather->next == total && gather->flying == 0 &&
        !gather->reading) {
        gather->reading = true;
        gather->next = 0;
        total = gather->items.count;
    }
    for (size_t i = 0; i < WINDOW && gather->next < total && gather->error == 0; i++)
        if (!gather->reader[i].call.flying)
            ask(zk, gather, &gather->reader[i], gather->next++);
    if (gather->flying > 0)
        return;
    if (gather->missing && gather->error == 0 && zk->config.chroot[0] != '\0')
        look_for_chroot(zk, gather);
    else
        finish(zk, gather);
}

static void on_root(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct gather *gather = ((struct reader *)data)->gather;
    char           name[256];

    gather->flying--;
    gather->error = reply->error;
    size_t count = reply->error == 0 ? hf_zk_get_count(&reply->body, 4) : 0;
    for (size_t i = 0; i < count; i++) {
        struct hf_zk_text folder = hf_zk_get_text(&reply->body);
        if (hf_zk_folder_parse(folder.bytes, folder.size, name) &&
            !add_folder(gather, name))
            gather->error = HF_ENOMEM;
    }
    go_on(zk, gather);
}

void hf_zk_gather(struct hf_zk *zk, struct hf_zk_task *task,
                  void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                               const struct hf_zk_items *items))
{
    struct gather *gather = calloc(1, sizeof *gather);
    if (gather == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    assert(task->more == NULL);
    gather->task = task;
    gather->then = then;
    gather->items.stamp = 1;
    task->more = gather;
    task->free_more = gather_free;
    if (task->line != NULL) {
        if (!add_folder(gather, task->line->name))
            gather->error = HF_ENOMEM;
        go_on(zk, gather);
        return;
    }
    gather->reader[0].gather = gather;
    gather->flying = 1;
    hf_zk_call_get(zk, &gather->reader[0].call, HF_ZK_GET_CHILDREN2,
                   zk->config.chroot[0] != '\0' ? zk->config.chroot : "/", false, on_root,
                   &gather->reader[0]);
}
