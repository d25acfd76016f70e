/* scan.c - reads every place of a line, or of all lines, with its data.
 *
 * One list holds all nodes to be read.  Each answer adds more to its end:
 *
 *     chroot (to scan all lines) --> folders --> children --> their data
 *
 * Up to WINDOW calls are in flight at a time.  Nodes that disappear meanwhile are left
 * out.  A node that we may not read is still a place, with empty data.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 64

struct scan;

struct scan_call {
    struct hf_zk_call call;
    struct scan      *scan;
    size_t            index;
};

/* An entry without a name is a folder, one without a line the chroot. */
struct scan {
    struct hf_zk_task *task;
    void (*then)(struct hf_zk *, struct hf_zk_task *, const struct hf_zk_entries *);
    struct hf_zk_entries entries;
    size_t               next; /* index of the next entry to read */
    size_t               flying;
    int                  error; /* the first one that matters, or HF_ENOMEM */
    struct scan_call     window[WINDOW];
};

static void scan_free(void *data)
{
    struct scan *scan = data;

    hf_zk_entries_finish(&scan->entries);
    free(scan);
}

static void scan_fail(struct scan *scan, int error)
{
    if (scan->error == 0)
        scan->error = error;
}

static void scan_add(struct scan *scan, const char *line, const char *folder,
                     struct hf_zk_text name, const struct hf_zk_child *child)
{
    if (!hf_zk_entries_add(&scan->entries, line, folder, name, child))
        scan_fail(scan, HF_ENOMEM);
}

static void scan_add_chroot(const struct hf_zk *zk, struct scan *scan)
{
    scan_add(scan, NULL, hf_zk_root(zk), (struct hf_zk_text){ 0 }, NULL);
}

/* ---- Answers ------------------------------------------------------------------------ */

static void take_chroot(const struct hf_zk *zk, struct scan *scan,
                        struct hf_zk_reply *reply)
{
    char name[256];

    if (reply->error != 0)
        scan_fail(scan, reply->error);
    if (reply->error != 0 || scan->task->line != NULL)
        return; /* we only asked whether it exists */
    for (size_t i = hf_zk_get_count(&reply->body, 4); i > 0; i--) {
        struct hf_zk_text folder = hf_zk_get_text(&reply->body);
        if (hf_zk_folder_parse(folder.bytes, folder.size, name))
            scan_add(scan, name, zk->config.chroot, folder, NULL);
    }
}

/* If the folder is missing, either nobody has used the lock yet, or the URL is wrong. */
static void take_folder(struct hf_zk *zk, struct scan *scan, struct hf_zk_entry folder,
                        struct hf_zk_reply *reply)
{
    bool              one = scan->task->line != NULL;
    size_t            before = scan->entries.count;
    struct hf_zk_stat stat;

    if (reply->error == 0 || reply->error == HF_ZK_NO_AUTH)
        hf_zk_watch_store_listed(zk, folder.line, reply->error != 0);
    if (reply->error == HF_ZK_NO_NODE) {
        if (one && zk->config.chroot[0] != '\0')
            scan_add_chroot(zk, scan);
        return;
    }
    if (reply->error != 0) {
        if (one || reply->error != HF_ZK_NO_AUTH)
            scan_fail(scan, reply->error);
        return;
    }
    for (size_t i = hf_zk_get_count(&reply->body, 4); i > 0; i--) {
        struct hf_zk_text  name = hf_zk_get_text(&reply->body);
        struct hf_zk_child child;
        hf_zk_child_parse(name.bytes, name.size, &child);
        if (child.style != HF_ZK_FOREIGN)
            scan_add(scan, folder.line, folder.path, name, &child);
    }
    for (size_t i = before; i < scan->entries.count; i++)
        scan->entries.entry[i].listed = (uint64_t)reply->zxid;
    hf_zk_get_stat(&reply->body, &stat);
    scan->entries.stamp = (uint64_t)stat.pzxid;
}

/* "note\nasked=...\ntoken=...\nheld=...": the first line is the note. */
static void take_child(struct scan *scan, struct hf_zk_entry *entry,
                       struct hf_zk_reply *reply)
{
    struct hf_zk_stat stat = { 0 };
    struct hf_zk_text data = { "", 0 };

    assert(!entry->there); /* each is read once */
    if (reply->error == HF_ZK_NO_NODE)
        return;
    if (reply->error != 0 && reply->error != HF_ZK_NO_AUTH) {
        scan_fail(scan, reply->error);
        return;
    }
    if (!entry->unreadable)
        data = hf_zk_get_text(&reply->body);
    if (reply->error == 0)
        hf_zk_get_stat(&reply->body, &stat);
    entry->text = strndup(data.bytes, data.size);
    entry->note =
        strndup(data.bytes, strcspn(entry->text != NULL ? entry->text : "", "\n"));
    if (entry->text == NULL || entry->note == NULL) {
        scan_fail(scan, HF_ENOMEM);
        return;
    }
    entry->token = hf_zk_child_token(entry->name, strlen(entry->name));
    const char *older = strstr(entry->text, "\ntoken="); /* by an older Holdfast */
    if (entry->token == 0)
        entry->token =
            older != NULL ? strtoull(older + 7, NULL, 10) : (uint64_t)stat.czxid;
    entry->since = hf_zk_since_read(entry->text, &stat);
    entry->there = true;
}

/* ---- Going through the list --------------------------------------------------------- */

static void scan_end(struct hf_zk *zk, struct scan *scan)
{
    struct hf_zk_task *task = scan->task;

    assert(scan->flying == 0 && task->more == scan);
    if (scan->error == HF_ENOMEM) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    } else if (scan->error == HF_ZK_NO_NODE) {
        hf_task_finish(&task->base, hf_zk_chroot_fail(zk));
    } else if (scan->error != 0) {
        hf_task_finish(&task->base, hf_zk_fault(zk, scan->error, "list",
                                                task->line != NULL ? task->line->folder
                                                                   : zk->config.chroot));
    } else {
        hf_zk_entries_arrange(&scan->entries);
        hf_zk_watch_store_found(zk, task->line != NULL ? task->line->name : NULL,
                                &scan->entries);
        scan->then(zk, task, &scan->entries);
    }
}

static void on_scan_answer(struct hf_zk *zk, void *data, struct hf_zk_reply *reply);

/* With most servers EXISTS needs no right, and shows some of a node that we may not
 * read.  With others we only know its name. */
static enum hf_zk_opcode opcode_for(const struct scan        *scan,
                                    const struct hf_zk_entry *entry)
{
    bool reads = entry->name != NULL && !entry->unreadable;
    bool lists = entry->name == NULL && (entry->line != NULL || scan->task->line == NULL);

    return reads ? HF_ZK_GET_DATA : lists ? HF_ZK_GET_CHILDREN2 : HF_ZK_EXISTS;
}

static void scan_send(struct hf_zk *zk, struct scan *scan, struct scan_call *from,
                      size_t index)
{
    const struct hf_zk_entry *entry = &scan->entries.entry[index];

    from->scan = scan;
    from->index = index;
    scan->flying++;
    hf_zk_call_get(zk, &from->call, opcode_for(scan, entry), entry->path, on_scan_answer,
                   from);
}

static void scan_continue(struct hf_zk *zk, struct scan *scan)
{
    for (size_t i = 0; i < WINDOW && scan->next < scan->entries.count; i++)
        if (!scan->window[i].call.flying && scan->error == 0)
            scan_send(zk, scan, &scan->window[i], scan->next++);
    if (scan->flying == 0)
        scan_end(zk, scan);
}

static void on_scan_answer(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct scan_call   *from = data;
    struct scan        *scan = from->scan;
    struct hf_zk_entry *entry = &scan->entries.entry[from->index];

    assert(scan->flying > 0 && from->index < scan->entries.count);
    scan->flying--;
    if (entry->line == NULL) {
        take_chroot(zk, scan, reply);
    } else if (entry->name == NULL) {
        take_folder(zk, scan, *entry, reply);
    } else if (reply->error == HF_ZK_NO_AUTH && !entry->unreadable) {
        entry->unreadable = true;
        scan_send(zk, scan, from, from->index);
    } else {
        take_child(scan, entry, reply);
    }
    scan_continue(zk, scan);
}

void hf_zk_scan(struct hf_zk *zk, struct hf_zk_task *task,
                void (*then)(struct hf_zk *zk, struct hf_zk_task *task,
                             const struct hf_zk_entries *entries))
{
    struct scan *scan = hf_zk_task_more(task, sizeof *scan, scan_free);
    if (scan == NULL)
        return;
    scan->task = task;
    scan->then = then;
    scan->entries.stamp = 1;
    if (task->line != NULL)
        scan_add(scan, task->line->name, task->line->folder, (struct hf_zk_text){ 0 },
                 NULL);
    else
        scan_add_chroot(zk, scan);
    scan_continue(zk, scan);
}
