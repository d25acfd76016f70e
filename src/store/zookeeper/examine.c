/* examine.c - EXAMINE: what a person should know about these servers.
 *
 * All calls are sent at once.  What they tell is told when all of them are answered:
 *
 *     srvr, on a connection of its own       version and role
 *     get /zookeeper/config                  size of the ensemble
 *     create, then delete below the chroot   may we write, does a quorum take it?
 *     exists, of the lock's folder           what does each server of the URL show?
 *     list, ACL, rights of the lock's folder
 *
 * Rights in a folder are tried by a MULTI that makes a node, deletes it and then
 * fails on purpose: nothing is changed, nobody is woken.
 */
#include "store/zookeeper/examine.h"

#include "base/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG, WRITE, VIEW, LIST, ACL, RIGHTS, CALLS };

struct examine {
    struct hf_zk_task        *task;
    struct hf_zk_call         call[CALLS];
    size_t                    flying;  /* calls, and all probes of members as one */
    size_t                    viewing; /* those probes */
    bool                      broken;  /* the connection did */
    struct hf_zk_probe        srvr;
    char                      child[40]; /* a name that no lock and no place can have */
    char                      path[HF_ZK_PATH_MAX];
    hf_time                   began;
    struct hf_zk_server_facts server;
    struct hf_zk_folder_facts folder;
    struct hf_finding_list    list;
};

static void examine_free(void *data)
{
    struct examine *examine = data;

    hf_zk_probe_end(&examine->srvr);
    for (size_t i = 0; i < examine->server.members; i++)
        hf_zk_probe_end(&examine->server.member[i]);
    free(examine->server.member);
    hf_finding_list_clear(&examine->list);
    free(examine);
}

static void tell_if_complete(struct hf_zk *zk, struct examine *examine)
{
    struct hf_zk_task      *task = examine->task;
    struct hf_finding_list *list = &examine->list;

    if (examine->flying > 0 || (examine->srvr.open && !examine->broken))
        return;
    if (examine->broken) {
        hf_task_finish(&task->base, HF_EDOWN); /* the link has said why */
        return;
    }
    examine->server.srvr = examine->srvr.in;
    hf_zk_server_tell(zk, &examine->server, list);
    if (task->line != NULL)
        hf_zk_folder_tell(zk, task->line, &examine->folder, list);
    if (list->failed) {
        hf_task_fail(&task->base, HF_ENOMEM, "out of memory");
        return;
    }
    task->base.req->finding = list->finding;
    task->base.req->findings = list->count;
    hf_task_finish(&task->base, 0);
}

static void on_srvr(struct hf_zk *zk, void *data)
{
    assert(!((struct examine *)data)->srvr.open);
    tell_if_complete(zk, data);
}

static void call_answered(struct hf_zk *zk, struct examine *examine, int error)
{
    assert(examine->flying > 0);
    examine->flying--;
    if (error == HF_ZK_CONNECTION_LOSS)
        examine->broken = true;
    tell_if_complete(zk, examine);
}

/* ---- Servers -------------------------------------------------------------------------- */

/* A line "server.N=..." for each. */
static void on_config(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct examine   *examine = data;
    struct hf_zk_text text = hf_zk_get_text(&reply->body);
    const char       *at = text.bytes, *end = text.bytes + text.size;

    while (reply->error == 0 && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (end - at > 7 && memcmp(at, "server.", 7) == 0)
            examine->server.size++;
        at = newline != NULL ? newline + 1 : end;
    }
    call_answered(zk, examine, reply->error);
}

/* Ours is asked before and after the others: so it is known whether the node changed. */
static void on_view_after(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct examine *examine = data;

    hf_zk_view_take(&examine->server.after, reply->error, &reply->body);
    call_answered(zk, examine, reply->error);
}

static void on_member_viewed(struct hf_zk *zk, void *data)
{
    struct examine *examine = data;

    assert(examine->viewing > 0);
    if (--examine->viewing > 0)
        return;
    if (zk->dial.phase == HF_DIAL_READY)
        hf_zk_call_get(zk, &examine->call[VIEW], HF_ZK_EXISTS, examine->server.path,
                       on_view_after, examine);
    else
        call_answered(zk, examine, HF_ZK_CONNECTION_LOSS);
}

static void on_view_before(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct examine            *examine = data;
    struct hf_zk_server_facts *facts = &examine->server;
    size_t                     count = zk->config.servers;

    hf_zk_view_take(&facts->before, reply->error, &reply->body);
    if (!facts->before.answered ||
        (facts->member = calloc(count, sizeof *facts->member)) == NULL) {
        call_answered(zk, examine, reply->error);
        return;
    }
    facts->members = examine->viewing = count;
    for (size_t i = 0; i < count; i++)
        hf_zk_probe_send(zk, &facts->member[i], i, facts->path, on_member_viewed,
                         examine);
}

/* Behind a write that a quorum took: so it is up to date. */
static void compare_servers(struct hf_zk *zk, struct examine *examine)
{
    const struct hf_zk_line *line = examine->task->line;

    examine->server.path = line != NULL ? line->folder : hf_zk_root(zk);
    examine->flying++;
    hf_zk_call_get(zk, &examine->call[VIEW], HF_ZK_EXISTS, examine->server.path,
                   on_view_before, examine);
}

static void on_trial_deleted(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct examine *examine = data;

    examine->server.delete_error = reply->error;
    examine->server.took = hf_now() - examine->began;
    if (reply->error == 0 && zk->config.servers > 1)
        compare_servers(zk, examine);
    call_answered(zk, examine, reply->error);
}

static void on_trial_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct examine *examine = data;

    examine->server.create_error = reply->error;
    if (reply->error != 0) {
        call_answered(zk, examine, reply->error);
        return;
    }
    hf_zk_call_delete(zk, &examine->call[WRITE], examine->path, on_trial_deleted,
                      examine);
}

static void call_servers(struct hf_zk *zk, struct examine *examine)
{
    examine->flying += 2;
    hf_zk_probe_send(zk, &examine->srvr, 0, NULL, on_srvr, examine);
    hf_zk_call_get(zk, &examine->call[CONFIG], HF_ZK_GET_DATA, "/zookeeper/config",
                   on_config, examine);
    snprintf(examine->path, sizeof examine->path, "%s/%s", zk->config.chroot,
             examine->child);
    examine->began = hf_now();
    hf_zk_call_create(zk, &examine->call[WRITE], examine->path, "holdfast doctor",
                      HF_ZK_EPHEMERAL, on_trial_made, examine);
}

/* ---- A lock's folder --------------------------------------------------------------------- */

static void on_folder_listed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct examine *examine = data;

    hf_zk_folder_take_list(&examine->folder, reply);
    call_answered(zk, examine, reply->error);
}

static void on_acl(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct examine *examine = data;

    hf_zk_folder_take_acl(&examine->folder, reply);
    call_answered(zk, examine, reply->error);
}

static void on_rights(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct examine *examine = data;

    if (reply->error != HF_ZK_CONNECTION_LOSS) {
        examine->folder.enter_error = hf_zk_multi_error(reply, 0);
        examine->folder.leave_error = hf_zk_multi_error(reply, 1);
    }
    call_answered(zk, examine, reply->error);
}

static void call_folder(struct hf_zk *zk, struct examine *examine)
{
    const struct hf_zk_line *line = examine->task->line;
    char                     path[HF_ZK_PATH_MAX];

    examine->flying += 3;
    hf_zk_call_get(zk, &examine->call[LIST], HF_ZK_GET_CHILDREN2, line->folder,
                   on_folder_listed, examine);
    hf_zk_call_get(zk, &examine->call[ACL], HF_ZK_GET_ACL, line->folder, on_acl, examine);
    hf_zk_path(line, examine->child, path);
    hf_zk_multi_begin(zk, &examine->call[RIGHTS], on_rights, examine);
    hf_zk_multi_create(zk, path, "", HF_ZK_EPHEMERAL);
    hf_zk_multi_delete(zk, path);
    hf_zk_multi_check(zk, path); /* it is not there: all of it fails here at the latest */
    hf_zk_multi_end(zk);
}

void hf_zk_examine(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct examine *examine = hf_zk_task_more(task, sizeof *examine, examine_free);
    if (examine == NULL)
        return;
    examine->task = task;
    snprintf(examine->child, sizeof examine->child, "%%doctor-%016" PRIx64, hf_random());
    call_servers(zk, examine);
    if (task->line != NULL)
        call_folder(zk, examine);
}
