/* store.c - struct hf_store_impl: open, close, submit, cancel and process.
 *
 * process() carries out every request at once.  Only a WATCH and a WATCH_STORE wait.
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/files.h"
#include "store/sqlite/files/live.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/line/own.h"
#include "store/sqlite/link.h"
#include "store/sqlite/sqlite.h"
#include "store/sqlite/wake/wake.h"
#include "store/sqlite/watch.h"

#include "base/fork.h"
#include "holdfast.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Answers in one process(): callers that submit more from done() must not keep us
 * here. */
#define ANSWERS_MAX 256

/* Pause before we try again to end a session. */
#define RETRY_PAUSE (20 * HF_MS)

int hf_sq_fail(struct hf_sq *sq, int code, const char *format, ...)
{
    va_list args;

    assert(code < 0);
    va_start(args, format);
    vsnprintf(sq->base.errmsg, sizeof sq->base.errmsg, format, args);
    va_end(args);
    return code;
}

/* ---- Requests ---------------------------------------------------------------- */

void hf_sq_finish(struct hf_sq *sq, struct hf_req *req, int status)
{
    assert(status <= 0 && status > HF_SQ_STALE); /* not HF_SQ_... */
    req->status = status;
    hf_requests_append(&sq->finished, req);
    sq->base.wake = 0;
}

void hf_sq_finish_all(struct hf_sq *sq, int status)
{
    struct hf_req *req;

    hf_sq_watches_drop(sq);
    while ((req = hf_requests_take(&sq->waiting)) != NULL)
        hf_sq_finish(sq, req, status);
}

static void submit(struct hf_store *store, struct hf_req *req)
{
    struct hf_sq *sq = (struct hf_sq *)store;

    assert(req->op != HF_NOTHING);
    assert(req->name != NULL || hf_req_may_name_none(req));
    req->canceled = false;
    req->work = NULL;
    req->line = (struct hf_line){ 0 }; /* nothing is answered yet */
    req->findings = req->changes = req->entries = 0;
    if (req->op == HF_WATCH && sq->waiting.first == NULL && hf_sq_watch_idle(sq, req))
        return;
    hf_requests_append(&sq->waiting, req);
    store->wake = 0;
}

static void cancel(struct hf_store *store, struct hf_req *req)
{
    struct hf_sq *sq = (struct hf_sq *)store;

    req->canceled = true;
    if (hf_sq_watch_cancel(sq, req))
        return;
    sq->cancels = true;
    sq->store_watch.canceled |= req->op == HF_WATCH_STORE;
    store->wake = 0;
}

static void end_canceled(struct hf_sq *sq)
{
    if (!sq->cancels)
        return;
    sq->cancels = false;

    struct hf_requests all = sq->waiting;
    struct hf_req     *req;
    sq->waiting = (struct hf_requests){ 0 };
    while ((req = hf_requests_take(&all)) != NULL) {
        if (req->canceled && hf_req_may_end(req, false))
            hf_sq_finish(sq, req, HF_ECANCELED);
        else
            hf_requests_append(&sq->waiting, req);
    }
    hf_sq_watch_store_end_canceled(sq);
}

/* ---- Processing -------------------------------------------------------------- */

static void read_events(struct hf_sq *sq)
{
    struct epoll_event event[16];
    int                n = epoll_wait(sq->base.fd, event, 16, 0);

    for (int i = 0; i < n; i++) {
        uint64_t from = event[i].data.u64;
        if (from == HF_SQ_EVENT_FIFO)
            hf_sq_fifo_drain(sq);
        else if (from == HF_SQ_EVENT_WRITTEN)
            hf_sq_log_written(sq);
        else if (from != HF_SQ_EVENT_INOTIFY)
            hf_sq_peer_gone(sq, from);
        else if (sq->inotify >= 0)
            hf_sq_file_watch_notified(sq);
    }
}

static hf_time next_wake(const struct hf_sq *sq)
{
    hf_time next = hf_sq_peers_next_check(sq);

    if (sq->finished.first != NULL || sq->cancels)
        return 0;
    if (sq->to_end.sid != 0)
        return sq->now + (sq->base.refusal != 0 ? RETRY_PAUSE : HF_MS);
    if (sq->waiting.first != NULL)
        return sq->locked_since != 0 ? sq->now + hf_sq_write_lock_pause(sq) : 0;
    if (sq->store_watch.next_check < next)
        next = sq->store_watch.next_check;
    if (sq->line_check < next)
        next = sq->line_check;
    return sq->file_check < next ? sq->file_check : next;
}

/* A caller that was just answered may submit requests that can share a transaction with
 * those that wait.  So these wait for the next process(), which comes at once, and no
 * longer. */
static bool postpone(struct hf_sq *sq, bool answered)
{
    sq->postponed = answered && !sq->postponed;
    return sq->postponed;
}

/* All that is due by now: next_wake() has the same times. */
static void run_timers(struct hf_sq *sq, bool readable)
{
    if (sq->to_end.sid != 0)
        hf_sq_end_session(sq);
    if (readable)
        read_events(sq);
    if (sq->ended)
        hf_sq_lose_session(sq);
    hf_sq_peers_check(sq);
    if (sq->now >= sq->file_check)
        hf_sq_file_watch_run(sq);
    if (sq->now >= sq->store_watch.next_check)
        hf_sq_watch_store_run(sq);
    if (sq->now >= sq->line_check)
        hf_sq_watches_recheck(sq);
}

static void answer_all(struct hf_sq *sq)
{
    struct hf_req *req;
    bool           answered = false;

    for (int round = 0; round < ANSWERS_MAX; round++) {
        end_canceled(sq);
        if ((req = hf_requests_take(&sq->finished)) != NULL) {
            answered = true;
            req->done(req);
        } else if (sq->waiting.first == NULL || postpone(sq, answered) ||
                   !hf_sq_run_next(sq)) {
            break;
        }
    }
    if (sq->waiting.first == NULL)
        sq->locked_since = 0;
}

static void process(struct hf_store *store, hf_time now, bool readable)
{
    struct hf_sq               *sq = (struct hf_sq *)store;
    struct hf_sq_blocked_signal blocked;

    assert(!sq->can_retry); /* not called by itself */
    sq->now = now;
    hf_sq_block_sigxfsz(&blocked);
    run_timers(sq, readable);
    answer_all(sq);
    store->wake = next_wake(sq);
    hf_sq_unblock_signal(&blocked);
}

/* ---- Opening and closing ----------------------------------------------------- */

static void destroy_store(struct hf_sq *sq)
{
    assert(sq->watches == NULL);
    hf_sq_disconnect(sq);
    hf_sq_owns_finish(&sq->owns);
    hf_sq_forget_texts(sq);
    hf_finding_list_clear(&sq->findings);
    free(sq->rows.row);
    free(sq->dead.row);
    free(sq->place);
    free(sq->wakeups);
    free(sq->entries);
    free(sq->store_watch.answer);
    if (sq->reserved_fd >= 0)
        close(sq->reserved_fd);
    if (sq->base.fd >= 0)
        close(sq->base.fd);
    free(sq);
}

static void close_store(struct hf_store *store)
{
    struct hf_sq               *sq = (struct hf_sq *)store;
    struct hf_sq_blocked_signal blocked;

    /* In a forked child everything, the database above all, is the parent's. */
    if (sq->generation != hf_fork_generation())
        return;
    hf_sq_block_sigxfsz(&blocked);
    hf_sq_watches_drop(sq);
    hf_sq_leave_all(sq);
    if (sq->sid != 0)
        hf_sq_checkpoint(sq, true);
    destroy_store(sq);
    hf_sq_unblock_signal(&blocked);
}

static int make_store(const struct hf_config *config, char *errmsg, struct hf_store **ret)
{
    const char   *force = hf_config_get(config, "force");
    const char   *group = hf_config_get(config, "group");
    struct hf_sq *sq = calloc(1, sizeof *sq);
    int           r = HF_ENOMEM;
    if (sq == NULL)
        return HF_ENOMEM;

    sq->base = (struct hf_store){ .impl = &hf_sqlite_store,
                                  .fd = epoll_create1(EPOLL_CLOEXEC),
                                  .wake = HF_NEVER,
                                  .link = HF_LINK_UP,
                                  .alive_until = HF_NEVER };
    int error = errno; /* of epoll_create1() */
    sq->generation = hf_fork_generation();
    sq->live = (struct hf_sq_live)HF_SQ_LIVE_INIT;
    sq->fifo = sq->inotify = sq->store_watch.inotify = -1;
    sq->reserved_fd = fcntl(sq->base.fd, F_DUPFD_CLOEXEC, 0);
    sq->file_check = sq->line_check = sq->store_watch.next_check = HF_NEVER;
    sq->now = hf_now();
    if (sq->base.fd < 0) {
        r = hf_sq_fail(sq, HF_ESTORE, "cannot create an epoll descriptor: %s",
                       strerror(error));
        goto fail;
    }
    bool forced = force != NULL && strcmp(force, "1") == 0;
    r = hf_sq_files_init(&sq->files, config->rest, forced, sq->base.errmsg);
    if (r == 0 && group != NULL)
        r = hf_sq_files_share(&sq->files, group, sq->base.errmsg);
    if (r == 0)
        r = hf_sq_history_read(sq, config);
    sq->files.init = config->init;
    if (r == 0 && sq->files.system && config->init)
        r = hf_sq_system_prepare(&sq->files, sq->base.errmsg);
    if (r == 0 && config->key != NULL)
        r = hf_sq_session_key_read(sq, config);
    if (r < 0)
        goto fail;
    /* The first request that needs a missing file makes it.  A fault that may pass in
     * a moment is no reason to fail. */
    r = hf_sq_files_check_folder(&sq->files, sq->base.errmsg);
    if (r < 0)
        goto fail;
    sq->base.shared = hf_sq_files_shared(&sq->files);
    r = hf_sq_connect(sq, sq->keep >= 0);
    bool patient = r == HF_EFULL && config->key != NULL; /* hf_sq_end_session() retries */
    if (r < 0 && r != HF_ENOTFOUND && r != HF_EDOWN && !patient)
        goto fail;
    sq->base.errmsg[0] = '\0';
    *ret = &sq->base;
    return 0;
fail:
    snprintf(errmsg, HF_ERRMSG_MAX, "%s", sq->base.errmsg);
    destroy_store(sq);
    return r;
}

static int open_store(const struct hf_config *config, char *errmsg, struct hf_store **ret)
{
    struct hf_sq_blocked_signal blocked;

    hf_sq_block_sigxfsz(&blocked);
    int r = make_store(config, errmsg, ret);
    hf_sq_unblock_signal(&blocked);
    return r;
}

/* A guardian with copies of these descriptors keeps the places alive, and waiters do
 * not take the session for dead. */
static int lifeline(struct hf_store *store, int *fds, int size)
{
    struct hf_sq *sq = (struct hf_sq *)store;

    int r = hf_sq_session(sq);
    if (r < 0)
        return r;
    assert(sq->live.keep >= 0 && sq->fifo >= 0); /* every session has both */
    if (size > 0)
        fds[0] = sq->live.keep;
    if (size > 1)
        fds[1] = sq->fifo;
    return size < 2 ? size : 2;
}

static const char *const params[] = { "force", "group", "history", NULL };

const struct hf_store_impl hf_sqlite_store = {
    .scheme = "sqlite",
    .params = params,
    .store_watches = true,
    .recalls = true,
    .open = open_store,
    .close = close_store,
    .submit = submit,
    .cancel = cancel,
    .process = process,
    .key = hf_sq_session_key,
    .lifeline = lifeline,
};
