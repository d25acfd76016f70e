/* reach.c - BREAK and ASK: doing something to somebody else's place.
 *
 * A place is found by its number, and known by its token, for numbers may start
 * afresh.  Its node's name is its own for ever, but for a claim's: see claim.c.
 */
#include "store/zookeeper/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct hf_zk_item *find(const struct hf_zk_items *items,
                                     const struct hf_req      *req)
{
    for (size_t i = 0; i < items->count; i++) {
        const struct hf_zk_item *item = &items->item[i];
        if (item->there && item->child.style != HF_ZK_SLOT && item->seq == req->seq &&
            (req->token == 0 || req->token == item->token))
            return item;
    }
    return NULL;
}

static void end(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    if (error == 0)
        hf_task_finish(&task->base, 0);
    else if (error == HF_ZK_NO_NODE || error == HF_ZK_BAD_VERSION)
        hf_task_fail(&task->base, HF_ENOTFOUND, "that place in \"%.100s\" is gone",
                     task->base.req->name);
    else
        hf_task_finish(&task->base, hf_zk_fault(zk, error, "change", task->line->folder));
}

static void on_done(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    end(zk, data, reply->error);
}

/* ---- BREAK --------------------------------------------------------------------------------- */

static void break_item(struct hf_zk *zk, struct hf_zk_task *task,
                       const struct hf_zk_item *item)
{
    char  slot[HF_ZK_PATH_MAX];
    char *path = hf_zk_path_new(task->line, item->name);

    if (path == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    } else if (item->child.shape.claim) {
        hf_zk_claim_delete(zk, task, item->seq, end);
    } else if (item->slot >= 0) {
        size_t begin = hf_zk_call_begin(zk, &task->call[0], HF_ZK_MULTI, on_done, task);
        hf_zk_slot_path(task->line, item->slot, slot);
        hf_zk_multi_delete(zk, path);
        hf_zk_multi_delete(zk, slot);
        hf_zk_multi_end(zk);
        hf_zk_call_end(zk, begin);
    } else {
        hf_zk_call_delete(zk, &task->call[0], path, -1, on_done, task);
    }
    free(path);
}

static void on_break(struct hf_zk *zk, struct hf_zk_task *task,
                     const struct hf_zk_items *items)
{
    const struct hf_zk_item *item = find(items, task->base.req);

    if (item == NULL)
        end(zk, task, HF_ZK_NO_NODE);
    else
        break_item(zk, task, item);
}

void hf_zk_break(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_gather(zk, task, on_break);
}

/* ---- ASK ------------------------------------------------------------------------------------ */

/* One of the lines behind the note, with what ends the line before it; or nothing. */
static int find_line(const char *text, const char *begin, const char **ret)
{
    const char *at = strstr(text, begin);

    *ret = at != NULL ? at : "";
    return at != NULL ? (int)strcspn(at + 1, "\n") + 1 : 0;
}

/* What stands there now, with our word in it.  To a node that is none of ours we
 * say what Curator's holders listen for. */
static char *with_word(const struct hf_zk_item *item, const char *why)
{
    char       *text = NULL;
    const char *token, *held;
    int         token_size = find_line(item->text, "\ntoken=", &token);
    int         held_size = find_line(item->text, "\nheld=", &held);

    if (!hf_zk_child_is_holdfast(item->name, strlen(item->name)))
        return strdup("__REVOKE__");
    if (asprintf(&text, "%s%.*s%.*s\nasked=%s", item->note, token_size, token, held_size,
                 held, why) < 0)
        return NULL;
    for (char *c = text + strlen(text) - strlen(why); *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    return text;
}

static void on_ask(struct hf_zk *zk, struct hf_zk_task *task,
                   const struct hf_zk_items *items)
{
    const struct hf_zk_item *item = find(items, task->base.req);

    if (item == NULL) {
        end(zk, task, HF_ZK_NO_NODE);
        return;
    }
    char *text =
        with_word(item, task->base.req->note != NULL ? task->base.req->note : "");
    char *path = hf_zk_path_new(task->line, item->name);
    if (text == NULL || path == NULL)
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    else
        hf_zk_call_set(zk, &task->call[0], path, text, strlen(text),
                       item->child.shape.claim ? item->version : -1, on_done, task);
    free(text);
    free(path);
}

void hf_zk_ask(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_gather(zk, task, on_ask);
}
