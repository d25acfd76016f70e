/* others.c - LIST, BREAK and ASK: seeing all places, and acting on those of others.
 *
 * A place is identified by its token, since numbers may start afresh.  The name of its
 * node is never used again.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- LIST: every place with its note ------------------------------------------------ */

static void on_scanned_to_list(struct hf_zk *zk, struct hf_zk_task *task,
                               const struct hf_zk_entries *entries)
{
    size_t           count;
    struct hf_place *places = hf_zk_entries_places(entries, &count);

    (void)zk;
    if (places == NULL) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    task->base.req->line = (struct hf_line){ places, count };
    task->base.req->stamp = entries->stamp;
    hf_task_finish(&task->base, 0);
    free(places);
}

void hf_zk_list(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_scan(zk, task, on_scanned_to_list);
}

/* ---- BREAK: deleting a place -------------------------------------------------------- */

static void place_changed(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    hf_zk_answer_done(zk, task, error, HF_ENOTFOUND, "change");
}

static void on_scanned_to_break(struct hf_zk *zk, struct hf_zk_task *task,
                                const struct hf_zk_entries *entries)
{
    const struct hf_zk_entry *entry = hf_zk_entries_find(entries, task->base.req);
    char                      companion[HF_ZK_PATH_MAX];

    if (entry == NULL) {
        place_changed(zk, task, HF_ZK_NO_NODE);
        return;
    }
    if (entry->companion != NULL)
        hf_zk_path(task->line, entry->companion, companion);
    hf_zk_place_delete(zk, task, entry->path, entry->companion != NULL ? companion : NULL,
                       place_changed);
}

void hf_zk_break(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_scan(zk, task, on_scanned_to_break);
}

/* ---- ASK: writing into a node why we would like to have the place ------------------- */

static void on_reason_left(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    place_changed(zk, data, reply->error);
}

/* A line "name=value" behind the note, with the newline before it; or nothing. */
static int find_field(const char *text, const char *begin, const char **ret)
{
    const char *at = strstr(text, begin);

    *ret = at != NULL ? at : "";
    return at != NULL ? (int)strcspn(at + 1, "\n") + 1 : 0;
}

/* The present data with the reason added.  A node that Holdfast did not make gets the
 * text that Curator's holders listen for. */
static char *with_reason(const struct hf_zk_entry *entry, const char *why)
{
    char       *text = NULL;
    const char *token, *held;
    int         token_size = find_field(entry->text, "\ntoken=", &token);
    int         held_size = find_field(entry->text, "\nheld=", &held);

    assert(entry->there && entry->note != NULL);
    if (!hf_zk_child_is_holdfast(entry->name, strlen(entry->name)))
        return strdup("__REVOKE__");
    if (asprintf(&text, "%s%.*s%.*s\nasked=%s", entry->note, token_size, token, held_size,
                 held, why) < 0)
        return NULL;
    for (char *c = text + strlen(text) - strlen(why); *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    return text;
}

static void on_scanned_to_ask(struct hf_zk *zk, struct hf_zk_task *task,
                              const struct hf_zk_entries *entries)
{
    const struct hf_zk_entry *entry = hf_zk_entries_find(entries, task->base.req);

    if (entry == NULL) {
        place_changed(zk, task, HF_ZK_NO_NODE);
        return;
    }
    char *text =
        with_reason(entry, task->base.req->note != NULL ? task->base.req->note : "");
    if (text == NULL)
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
    else
        hf_zk_call_set(zk, &task->call[0], entry->path, text, strlen(text), -1,
                       on_reason_left, task);
    free(text);
}

void hf_zk_ask(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_scan(zk, task, on_scanned_to_ask);
}
