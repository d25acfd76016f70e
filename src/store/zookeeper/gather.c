/* gather.c - every place of a line, or of all lines, with what is in it.
 *
 * One list has all that is to be read: the chroot, if it is about all lines; folders; their
 * children.  What is read adds more to the end of the list:
 *
 *     chroot --> folders --> children --> their data
 *
 * Up to WINDOW calls are in flight at a time.  What goes away meanwhile is left out.  What
 * we may not read is there all the same: its data is taken for empty.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 64

struct gather;

struct gather_call {
    struct hf_zk_call call;
    struct gather    *gather;
    size_t            index;
};

/* An item without a name is a folder, one without a line the chroot. */
struct gather {
    struct hf_zk_task *task;
    void (*then)(struct hf_zk *, struct hf_zk_task *, const struct hf_zk_items *);
    struct hf_zk_items items;
    size_t             next; /* to be read */
    size_t             flying;
    int                error; /* the first one that matters, or HF_ENOMEM */
    struct gather_call window[WINDOW];
};

static void gather_free(void *data)
{
    struct gather *gather = data;

    hf_zk_items_finish(&gather->items);
    free(gather);
}

static void gather_fail(struct gather *gather, int error)
{
    if (gather->error == 0)
        gather->error = error;
}

static void gather_add(struct gather *gather, const char *line, const char *folder,
                       struct hf_zk_text name, const struct hf_zk_child *child)
{
    if (!hf_zk_items_add(&gather->items, line, folder, name, child))
        gather_fail(gather, HF_ENOMEM);
}

static void gather_add_chroot(const struct hf_zk *zk, struct gather *gather)
{
    gather_add(gather, NULL, hf_zk_root(zk), (struct hf_zk_text){ 0 }, NULL);
}

/* ---- Answers ------------------------------------------------------------------------------- */

static void take_chroot(const struct hf_zk *zk, struct gather *gather,
                        struct hf_zk_reply *reply)
{
    char name[256];

    if (reply->error != 0)
        gather_fail(gather, reply->error);
    if (reply->error != 0 || gather->task->line != NULL)
        return; /* it is there: that was the question */
    for (size_t i = hf_zk_get_count(&reply->body, 4); i > 0; i--) {
        struct hf_zk_text folder = hf_zk_get_text(&reply->body);
        if (hf_zk_folder_parse(folder.bytes, folder.size, name))
            gather_add(gather, name, zk->config.chroot, folder, NULL);
    }
}

/* No folder may mean that nobody has used the lock yet, or that the URL is wrong. */
static void take_folder(struct hf_zk *zk, struct gather *gather, struct hf_zk_item folder,
                        struct hf_zk_reply *reply)
{
    bool              one = gather->task->line != NULL;
    struct hf_zk_stat stat;

    if (reply->error == 0 || reply->error == HF_ZK_NO_AUTH)
        hf_zk_survey_listed(zk, folder.line, reply->error != 0);
    if (reply->error == HF_ZK_NO_NODE) {
        if (one && zk->config.chroot[0] != '\0')
            gather_add_chroot(zk, gather);
        return;
    }
    if (reply->error != 0) {
        if (one || reply->error != HF_ZK_NO_AUTH)
            gather_fail(gather, reply->error);
        return;
    }
    for (size_t i = hf_zk_get_count(&reply->body, 4); i > 0; i--) {
        struct hf_zk_text  name = hf_zk_get_text(&reply->body);
        struct hf_zk_child child;
        hf_zk_child_parse(name.bytes, name.size, &child);
        if (child.style != HF_ZK_FOREIGN)
            gather_add(gather, folder.line, folder.path, name, &child);
    }
    hf_zk_get_stat(&reply->body, &stat);
    gather->items.stamp = (uint64_t)stat.pzxid;
}

/* "note\nasked=...\ntoken=...\nheld=...": the note is up to the first line's end. */
static void take_child(struct gather *gather, struct hf_zk_item *item,
                       struct hf_zk_reply *reply)
{
    struct hf_zk_stat stat = { 0 };
    struct hf_zk_text data = { "", 0 };

    assert(!item->there); /* each is read once */
    if (reply->error == HF_ZK_NO_NODE)
        return;
    if (reply->error != 0 && reply->error != HF_ZK_NO_AUTH) {
        gather_fail(gather, reply->error);
        return;
    }
    if (!item->hidden)
        data = hf_zk_get_text(&reply->body);
    if (reply->error == 0)
        hf_zk_get_stat(&reply->body, &stat);
    item->text = strndup(data.bytes, data.size);
    item->note = strndup(data.bytes, strcspn(item->text != NULL ? item->text : "", "\n"));
    if (item->text == NULL || item->note == NULL) {
        gather_fail(gather, HF_ENOMEM);
        return;
    }
    const char *token = strstr(item->text, "\ntoken=");
    item->token = token != NULL ? strtoull(token + 7, NULL, 10) : (uint64_t)stat.czxid;
    item->since = hf_zk_since_read(item->text, &stat);
    item->there = true;
}

/* ---- Going through the list ---------------------------------------------------------------- */

static void gather_end(struct hf_zk *zk, struct gather *gather)
{
    struct hf_zk_task *task = gather->task;

    assert(gather->flying == 0 && task->more == gather);
    if (gather->error == HF_ENOMEM) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    } else if (gather->error == HF_ZK_NO_NODE) {
        hf_task_finish(&task->base, hf_zk_chroot_fail(zk));
    } else if (gather->error != 0) {
        hf_task_finish(&task->base, hf_zk_fault(zk, gather->error, "list",
                                                task->line != NULL ? task->line->folder
                                                                   : zk->config.chroot));
    } else {
        hf_zk_items_arrange(&gather->items);
        hf_zk_survey_found(zk, task->line != NULL ? task->line->name : NULL,
                           &gather->items);
        gather->then(zk, task, &gather->items);
    }
}

static void on_gathered(struct hf_zk *zk, void *data, struct hf_zk_reply *reply);

/* Of what we may not read EXISTS shows some of it, which needs no right with most servers.
 * With others nothing but its name is known. */
static enum hf_zk_opcode question_about(const struct gather     *gather,
                                        const struct hf_zk_item *item)
{
    bool reads = item->name != NULL && !item->hidden;
    bool lists = item->name == NULL && (item->line != NULL || gather->task->line == NULL);

    return reads ? HF_ZK_GET_DATA : lists ? HF_ZK_GET_CHILDREN2 : HF_ZK_EXISTS;
}

static void gather_send(struct hf_zk *zk, struct gather *gather, struct gather_call *from,
                        size_t index)
{
    const struct hf_zk_item *item = &gather->items.item[index];

    from->gather = gather;
    from->index = index;
    gather->flying++;
    hf_zk_call_get(zk, &from->call, question_about(gather, item), item->path, on_gathered,
                   from);
}

static void gather_go_on(struct hf_zk *zk, struct gather *gather)
{
    for (size_t i = 0; i < WINDOW && gather->next < gather->items.count; i++)
        if (!gather->window[i].call.flying && gather->error == 0)
            gather_send(zk, gather, &gather->window[i], gather->next++);
    if (gather->flying == 0)
        gather_end(zk, gather);
}

static void on_gathered(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct gather_call *from = data;
    struct gather      *gather = from->gather;
    struct hf_zk_item  *item = &gather->items.item[from->index];

    assert(gather->flying > 0 && from->index < gather->items.count);
    gather->flying--;
    if (item->line == NULL) {
        take_chroot(zk, gather, reply);
    } else if (item->name == NULL) {
        take_folder(zk, gather, *item, reply);
    } else if (reply->error == HF_ZK_NO_AUTH && !item->hidden) {
        item->hidden = true;
        gather_send(zk, gather, from, from->index);
    } else {
        take_child(gather, item, reply);
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
    if (task->line != NULL)
        gather_add(gather, task->line->name, task->line->folder, (struct hf_zk_text){ 0 },
                   NULL);
    else
        gather_add_chroot(zk, gather);
    gather_go_on(zk, gather);
}
