/* others.c - LIST, BREAK and ASK: what a client sees of all places, and does to those of others.
 *
 * A place is known by its token: numbers may start afresh.  The name of its node is never
 * used again.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- LIST: every place with its note ------------------------------------------------------ */

static void on_gathered_to_list(struct hf_zk *zk, struct hf_zk_task *task,
                                const struct hf_zk_items *items)
{
    size_t            count;
    struct hf_ticket *ticket = hf_zk_items_tickets(items, &count);

    (void)zk;
    if (ticket == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    task->base.req->line = (struct hf_line){ ticket, count };
    task->base.req->stamp = items->stamp;
    hf_task_finish(&task->base, 0);
    free(ticket);
}

void hf_zk_list(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_gather(zk, task, on_gathered_to_list);
}

/* ---- BREAK: deleting a place ---------------------------------------------------------------- */

static void place_changed(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    hf_zk_answer_done(zk, task, error, HF_ENOTFOUND, "change");
}

static void on_gathered_to_break(struct hf_zk *zk, struct hf_zk_task *task,
                                 const struct hf_zk_items *items)
{
    const struct hf_zk_item *item = hf_zk_items_find(items, task->base.req);
    char                     beside[HF_ZK_PATH_MAX];

    if (item == NULL) {
        place_changed(zk, task, HF_ZK_NO_NODE);
        return;
    }
    if (item->beside != NULL)
        hf_zk_path(task->line, item->beside, beside);
    hf_zk_place_delete(zk, task, item->path, item->beside != NULL ? beside : NULL,
                       place_changed);
}

void hf_zk_break(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_gather(zk, task, on_gathered_to_break);
}

/* ---- ASK: writing into a node why we would like to have the place ---------------------------- */

static void on_reason_left(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    place_changed(zk, data, reply->error);
}

/* One of the lines behind the note, with what ends the line before it; or nothing. */
static int find_line(const char *text, const char *begin, const char **ret)
{
    const char *at = strstr(text, begin);

    *ret = at != NULL ? at : "";
    return at != NULL ? (int)strcspn(at + 1, "\n") + 1 : 0;
}

/* What stands there now, and the reason.  A node that Holdfast did not make gets what
 * Curator's holders listen for. */
static char *with_reason(const struct hf_zk_item *item, const char *why)
{
    char       *text = NULL;
    const char *token, *held;
    int         token_size = find_line(item->text, "\ntoken=", &token);
    int         held_size = find_line(item->text, "\nheld=", &held);

    assert(item->there && item->note != NULL);
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

static void on_gathered_to_ask(struct hf_zk *zk, struct hf_zk_task *task,
                               const struct hf_zk_items *items)
{
    const struct hf_zk_item *item = hf_zk_items_find(items, task->base.req);

    if (item == NULL) {
        place_changed(zk, task, HF_ZK_NO_NODE);
        return;
    }
    char *text =
        with_reason(item, task->base.req->note != NULL ? task->base.req->note : "");
    if (text == NULL)
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    else
        hf_zk_call_set(zk, &task->call[0], item->path, text, strlen(text), -1,
                       on_reason_left, task);
    free(text);
}

void hf_zk_ask(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_gather(zk, task, on_gathered_to_ask);
}
