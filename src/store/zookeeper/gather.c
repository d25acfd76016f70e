/* gather.c - every place of a line, or of all lines, with what is in it.
 *
 *     [the root] --> folders --> children --> their data
 *
 * Up to WINDOW calls are in flight at a time.  What goes away meanwhile is left out.  What
 * we may not read is there all the same: its data is taken for empty.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 64

struct gather;

struct gather_call {
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
    size_t             next; /* to be read */
    size_t             flying;
    bool               reading; /* data, not folders */
    bool               missing; /* the one folder that is wanted */
    int                error;   /* the first one that matters, or HF_ENOMEM */
    struct gather_call window[WINDOW];
};

static void gather_free(void *data)
{
    struct gather *gather = data;

    for (size_t i = 0; i < gather->folders; i++)
        free(gather->folder[i]);
    free(gather->folder);
    hf_zk_items_finish(&gather->items);
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
    item->seq = hf_zk_child_seq(&child);
    item->line = strdup(line);
    item->name = strndup(name.bytes, name.size);
    items->count++;
    return item->line != NULL && item->name != NULL;
}

/* ---- Both ends ------------------------------------------------------------------------- */

static void gather_end(struct hf_zk *zk, struct gather *gather)
{
    struct hf_zk_task *task = gather->task;

    assert(gather->flying == 0 && task->more == gather);
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
    hf_zk_items_arrange(&gather->items);
    hf_zk_survey_found(zk, task->line != NULL ? task->line->name : NULL, &gather->items);
    gather->then(zk, task, &gather->items);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void gather_go_on(struct hf_zk *zk, struct gather *gather);
static void gather_send(struct hf_zk *zk, struct gather *gather, struct gather_call *from,
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
    item->since = hf_zk_since_read(item->text, stat);
    item->there = true;
    return item->note != NULL;
}

/* True: we may not read it, and EXISTS is to be sent, which needs no right with most
 * servers.  With others nothing but its name is known. */
static bool read_item(struct gather *gather, struct gather_call *from,
                      struct hf_zk_reply *reply)
{
    struct hf_zk_item *item = &gather->items.item[from->index];
    struct hf_zk_stat  stat = { 0 };
    struct hf_zk_text  text = { "", 0 };

    assert(gather->reading && !item->there); /* each is read once */
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

static void on_gathered(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct gather_call *from = data;
    struct gather      *gather = from->gather;
    bool                one = gather->task->line != NULL && !gather->reading;
    bool                fatal = one || reply->error != HF_ZK_NO_AUTH;

    assert(gather->flying > 0);
    gather->flying--;
    if (!gather->reading && (reply->error == 0 || reply->error == HF_ZK_NO_AUTH))
        hf_zk_survey_listed(zk, gather->folder[from->index], reply->error != 0);
    if (reply->error == HF_ZK_NO_NODE) {
        gather->missing = one;
    } else if (reply->error != 0 && fatal) {
        gather->error = gather->error != 0 ? gather->error : reply->error;
    } else if (gather->reading && read_item(gather, from, reply)) {
        gather_send(zk, gather, from, from->index);
        if (gather->error == 0)
            return;
    } else if (!gather->reading && reply->error == 0 &&
               !take_children(gather, from->index, &reply->body)) {
        gather->error = HF_ENOMEM;
    }
    gather_go_on(zk, gather);
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

static void gather_send(struct hf_zk *zk, struct gather *gather, struct gather_call *from,
                        size_t index)
{
    bool  hidden = gather->reading && gather->items.item[index].hidden;
    char *path = path_of(zk, gather, index);

    if (path == NULL) {
        gather->error = HF_ENOMEM;
        return;
    }
    assert(index < (gather->reading ? gather->items.count : gather->folders));
    from->gather = gather;
    from->index = index;
    gather->flying++;
    hf_zk_call_get(zk, &from->call,
                   hidden            ? HF_ZK_EXISTS
                   : gather->reading ? HF_ZK_GET_DATA
                                     : HF_ZK_GET_CHILDREN2,
                   path, false, on_gathered, from);
    free(path);
}

static void on_chroot_checked(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct gather *gather = ((struct gather_call *)data)->gather;

    gather->flying--;
    gather->error = reply->error;
    gather_end(zk, gather);
}

/* No folder may mean that nobody has used the lock yet, or that the URL is wrong. */
static void check_chroot(struct hf_zk *zk, struct gather *gather)
{
    assert(gather->flying == 0 && gather->task->line != NULL);
    gather->flying++;
    hf_zk_call_get(zk, &gather->window[0].call, HF_ZK_EXISTS, zk->config.chroot, false,
                   on_chroot_checked, &gather->window[0]);
}

static void gather_go_on(struct hf_zk *zk, struct gather *gather)
{
    size_t total = gather->reading ? gather->items.count : gather->folders;

    if (gather->error == 0 && gather->next == total && gather->flying == 0 &&
        !gather->reading) {
        gather->reading = true;
        gather->next = 0;
        total = gather->items.count;
    }
    for (size_t i = 0; i < WINDOW && gather->next < total && gather->error == 0; i++)
        if (!gather->window[i].call.flying)
            gather_send(zk, gather, &gather->window[i], gather->next++);
    if (gather->flying > 0)
        return;
    if (gather->missing && gather->error == 0 && zk->config.chroot[0] != '\0')
        check_chroot(zk, gather);
    else
        gather_end(zk, gather);
}

static void on_root_listed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct gather *gather = ((struct gather_call *)data)->gather;
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
    gather_go_on(zk, gather);
}

void hf_zk_gather(struct hf_zk *zk, struct hf_zk_task *task,
                  void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                               const struct hf_zk_items *items))
{
    struct gather *gather = hf_zk_task_more(task, sizeof *gather, gather_free);
    if (gather == NULL)
        return;
    gather->task = task;
    gather->then = then;
    gather->items.stamp = 1;
    if (task->line != NULL) {
        if (!add_folder(gather, task->line->name))
            gather->error = HF_ENOMEM;
        gather_go_on(zk, gather);
        return;
    }
    gather->window[0].gather = gather;
    gather->flying = 1;
    hf_zk_call_get(zk, &gather->window[0].call, HF_ZK_GET_CHILDREN2, hf_zk_root(zk),
                   false, on_root_listed, &gather->window[0]);
}
