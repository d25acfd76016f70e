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

/* ---- BREAK: deleting a place --------------------------------------------------------
 *
 * The same transaction writes the data of the folder, which it does not change: the folder's
 * mzxid is then that of the last BREAK, and leave.c can tell that there was one.
 */

static void read_folder_to_break(struct hf_zk *zk, struct hf_zk_task *task);

static void place_changed(struct hf_zk *zk, struct hf_zk_task *task, int error)
{
    hf_zk_answer_done(zk, task, error, HF_ENOTFOUND, "change");
}

/* The path of the node that goes with the place; NULL: there is none, or it has gone. */
static const char *companion_to_break(const struct hf_zk_task *task, char *ret)
{
    if (task->broken->companion == NULL || task->step != 0)
        return NULL;
    hf_zk_path(task->line, task->broken->companion, ret);
    return ret;
}

/* Without the right to write to the folder the place is broken all the same. */
static void on_broken(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    enum { FOLDER, PLACE, COMPANION }; /* parts of the MULTI */
    struct hf_zk_task *task = data;
    char               path[HF_ZK_PATH_MAX];

    if (reply->error == HF_ZK_BAD_VERSION) { /* somebody else has written to the folder */
        read_folder_to_break(zk, task);
    } else if (hf_zk_multi_error(reply, FOLDER) == HF_ZK_NO_AUTH) {
        hf_zk_place_delete(zk, task, task->broken->path, companion_to_break(task, path),
                           place_changed);
    } else if (hf_zk_multi_error(reply, COMPANION) == HF_ZK_NO_NODE) {
        task->step = 1; /* again, without it */
        read_folder_to_break(zk, task);
    } else {
        place_changed(zk, task, reply->error);
    }
}

static void on_folder_read(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_task *task = data;
    struct hf_zk_text  text = hf_zk_get_text(&reply->body);
    struct hf_zk_stat  stat;
    char               path[HF_ZK_PATH_MAX];
    const char        *companion = companion_to_break(task, path);

    hf_zk_get_stat(&reply->body, &stat);
    if (reply->error != 0 || reply->body.bad) {
        place_changed(zk, task, reply->error != 0 ? reply->error : HF_ZK_MARSHALLING);
        return;
    }
    hf_zk_multi_begin(zk, &task->call[0], on_broken, task);
    hf_zk_multi_set(zk, task->line->folder, text, stat.version);
    hf_zk_multi_delete(zk, task->broken->path);
    if (companion != NULL)
        hf_zk_multi_delete(zk, companion);
    hf_zk_multi_end(zk);
}

static void read_folder_to_break(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_call_get(zk, &task->call[0], HF_ZK_GET_DATA, task->line->folder, on_folder_read,
                   task);
}

static void on_scanned_to_break(struct hf_zk *zk, struct hf_zk_task *task,
                                const struct hf_zk_entries *entries)
{
    task->broken = hf_zk_entries_find(entries, task->base.req);
    if (task->broken == NULL)
        place_changed(zk, task, HF_ZK_NO_NODE);
    else
        read_folder_to_break(zk, task);
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

    if (entry == NULL || entry->orphan) {
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
