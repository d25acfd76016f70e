/* ask.c - ASK: writing into somebody else's node why we would like to have its place. */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_reason_left(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    hf_zk_answer_done(zk, data, reply->error, HF_ENOTFOUND, "change");
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
        hf_zk_answer_done(zk, task, HF_ZK_NO_NODE, HF_ENOTFOUND, "change");
        return;
    }
    char *text =
        with_reason(item, task->base.req->note != NULL ? task->base.req->note : "");
    char *path = hf_zk_path_new(task->line, item->name);
    if (text == NULL || path == NULL)
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    else
        hf_zk_call_set(zk, &task->call[0], path, text, strlen(text), -1, on_reason_left,
                       task);
    free(text);
    free(path);
}

void hf_zk_ask(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_gather(zk, task, on_gathered_to_ask);
}
