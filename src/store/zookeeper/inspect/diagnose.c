/* diagnose.c - DIAGNOSE: what a person should know about these servers.
 *
 * All calls are sent at once, and reported when all of them are answered:
 *
 *     srvr, on a connection of its own       version and role
 *     get /zookeeper/config                  size of the ensemble
 *     create, then delete below the chroot   may we write, and does a quorum accept it?
 *     exists, of the lock's folder           what does each server of the URL show?
 *     list, ACL, rights of the lock's folder
 *
 * Rights in a folder are tested by a MULTI that creates a node, deletes it and then
 * fails on purpose: nothing changes, and nobody wakes up.
 */
#include "store/zookeeper/inspect/diagnose.h"

#include "base/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG, WRITE, VIEW, LIST, ACL, RIGHTS, CALLS };

struct diagnose {
    struct hf_zk_task *task;
    struct hf_zk_call  call[CALLS];
    size_t             flying;  /* calls in flight, and all probes of servers as one */
    size_t             viewing; /* those probes */
    bool               broken;  /* the connection broke */
    struct hf_zk_probe srvr;
    char               child[40]; /* a name that neither a lock nor a place can have */
    char               path[HF_ZK_PATH_MAX];
    hf_time            began;
    struct hf_zk_server_facts server;
    struct hf_zk_folder_facts folder;
    struct hf_finding_list    list;
};

static void diagnose_free(void *data)
{
    struct diagnose *diagnose = data;

    hf_zk_probe_end(&diagnose->srvr);
    for (size_t i = 0; i < diagnose->server.probes; i++)
        hf_zk_probe_end(&diagnose->server.probe[i]);
    free(diagnose->server.probe);
    hf_finding_list_clear(&diagnose->list);
    free(diagnose);
}

static void answer_if_complete(struct hf_zk *zk, struct diagnose *diagnose)
{
    struct hf_zk_task      *task = diagnose->task;
    struct hf_finding_list *list = &diagnose->list;

    if (diagnose->flying > 0 || (diagnose->srvr.open && !diagnose->broken))
        return;
    if (diagnose->broken) {
        hf_task_finish(&task->base, HF_EDOWN);
        return;
    }
    diagnose->server.srvr = diagnose->srvr.in;
    hf_zk_server_report(zk, &diagnose->server, list);
    if (task->line != NULL)
        hf_zk_folder_report(zk, task->line, &diagnose->folder, list);
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
    assert(!((struct diagnose *)data)->srvr.open);
    answer_if_complete(zk, data);
}

static void call_answered(struct hf_zk *zk, struct diagnose *diagnose, int error)
{
    assert(diagnose->flying > 0);
    diagnose->flying--;
    if (error == HF_ZK_CONNECTION_LOSS)
        diagnose->broken = true;
    answer_if_complete(zk, diagnose);
}

/* ---- Servers ------------------------------------------------------------------------ */

/* One line "server.N=..." for each server. */
static void on_config(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct diagnose  *diagnose = data;
    struct hf_zk_text text = hf_zk_get_text(&reply->body);
    const char       *at = text.bytes, *end = text.bytes + text.size;

    while (reply->error == 0 && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (end - at > 7 && memcmp(at, "server.", 7) == 0)
            diagnose->server.size++;
        at = newline != NULL ? newline + 1 : end;
    }
    call_answered(zk, diagnose, reply->error);
}

/* We ask our own server before and after the others, to know whether the node changed. */
static void on_view_after(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct diagnose *diagnose = data;

    hf_zk_view_take(&diagnose->server.after, reply->error, &reply->body);
    call_answered(zk, diagnose, reply->error);
}

static void on_probe_viewed(struct hf_zk *zk, void *data)
{
    struct diagnose *diagnose = data;

    assert(diagnose->viewing > 0);
    if (--diagnose->viewing > 0)
        return;
    if (zk->dial.phase == HF_DIAL_READY)
        hf_zk_call_get(zk, &diagnose->call[VIEW], HF_ZK_EXISTS, diagnose->server.path,
                       on_view_after, diagnose);
    else
        call_answered(zk, diagnose, HF_ZK_CONNECTION_LOSS);
}

static void on_view_before(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct diagnose           *diagnose = data;
    struct hf_zk_server_facts *facts = &diagnose->server;
    size_t                     count = zk->config.servers;

    hf_zk_view_take(&facts->before, reply->error, &reply->body);
    if (!facts->before.answered ||
        (facts->probe = calloc(count, sizeof *facts->probe)) == NULL) {
        call_answered(zk, diagnose, reply->error);
        return;
    }
    facts->probes = diagnose->viewing = count;
    for (size_t i = 0; i < count; i++)
        hf_zk_probe_send(zk, &facts->probe[i], i, facts->path, on_probe_viewed, diagnose);
}

/* Sent behind a write that a quorum accepted: so our server is up to date. */
static void compare_servers(struct hf_zk *zk, struct diagnose *diagnose)
{
    const struct hf_zk_line *line = diagnose->task->line;

    diagnose->server.path = line != NULL ? line->folder : hf_zk_root(zk);
    diagnose->flying++;
    hf_zk_call_get(zk, &diagnose->call[VIEW], HF_ZK_EXISTS, diagnose->server.path,
                   on_view_before, diagnose);
}

static void on_trial_deleted(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct diagnose *diagnose = data;

    diagnose->server.delete_error = reply->error;
    diagnose->server.took = hf_now() - diagnose->began;
    if (reply->error == 0 && zk->config.servers > 1)
        compare_servers(zk, diagnose);
    call_answered(zk, diagnose, reply->error);
}

static void on_trial_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct diagnose *diagnose = data;

    diagnose->server.create_error = reply->error;
    if (reply->error != 0) {
        call_answered(zk, diagnose, reply->error);
        return;
    }
    hf_zk_call_delete(zk, &diagnose->call[WRITE], diagnose->path, on_trial_deleted,
                      diagnose);
}

static void call_servers(struct hf_zk *zk, struct diagnose *diagnose)
{
    diagnose->flying += 2;
    hf_zk_probe_send(zk, &diagnose->srvr, 0, NULL, on_srvr, diagnose);
    hf_zk_call_get(zk, &diagnose->call[CONFIG], HF_ZK_GET_DATA, "/zookeeper/config",
                   on_config, diagnose);
    snprintf(diagnose->path, sizeof diagnose->path, "%s/%s", zk->config.chroot,
             diagnose->child);
    diagnose->began = hf_now();
    hf_zk_call_create(zk, &diagnose->call[WRITE], diagnose->path, "holdfast doctor",
                      HF_ZK_EPHEMERAL, on_trial_made, diagnose);
}

/* ---- A lock's folder ---------------------------------------------------------------- */

static void on_folder_listed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct diagnose *diagnose = data;

    hf_zk_folder_take_list(&diagnose->folder, reply);
    call_answered(zk, diagnose, reply->error);
}

static void on_acl(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct diagnose *diagnose = data;

    hf_zk_folder_take_acl(&diagnose->folder, reply);
    call_answered(zk, diagnose, reply->error);
}

static void on_rights(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct diagnose *diagnose = data;

    if (reply->error != HF_ZK_CONNECTION_LOSS) {
        diagnose->folder.enter_error = hf_zk_multi_error(reply, 0);
        diagnose->folder.leave_error = hf_zk_multi_error(reply, 1);
    }
    call_answered(zk, diagnose, reply->error);
}

static void call_folder(struct hf_zk *zk, struct diagnose *diagnose)
{
    const struct hf_zk_line *line = diagnose->task->line;
    char                     path[HF_ZK_PATH_MAX];

    diagnose->flying += 3;
    hf_zk_call_get(zk, &diagnose->call[LIST], HF_ZK_GET_CHILDREN2, line->folder,
                   on_folder_listed, diagnose);
    hf_zk_call_get(zk, &diagnose->call[ACL], HF_ZK_GET_ACL, line->folder, on_acl,
                   diagnose);
    hf_zk_path(line, diagnose->child, path);
    hf_zk_multi_begin(zk, &diagnose->call[RIGHTS], on_rights, diagnose);
    hf_zk_multi_create(zk, path, "", HF_ZK_EPHEMERAL);
    hf_zk_multi_delete(zk, path);
    hf_zk_multi_check(zk,
                      path); /* it does not exist: the MULTI fails here at the latest */
    hf_zk_multi_end(zk);
}

void hf_zk_diagnose(struct hf_zk *zk, struct hf_zk_task *task)
{
    struct diagnose *diagnose = hf_zk_task_more(task, sizeof *diagnose, diagnose_free);
    if (diagnose == NULL)
        return;
    diagnose->task = task;
    snprintf(diagnose->child, sizeof diagnose->child, "%%doctor-%016" PRIx64,
             hf_random());
    call_servers(zk, diagnose);
    if (task->line != NULL)
        call_folder(zk, diagnose);
}
