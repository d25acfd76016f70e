/* task.h - a request at work, from submit() to done(): the same for every store that has
 * a server.
 *
 *                       +--------- again --------+
 *                       v                        |
 *     submit --> WAITING or REPEAT --begin--> AT WORK --finish--> done()
 *                       |
 *                       +--canceled, refused, lost--------------> done()
 *
 *     state     it is in    req->work   moves on by
 *     WAITING   `waiting`   NULL        begin, when the dial is READY; canceled; refused;
 *                                       the session is lost
 *     REPEAT    `repeat`    NULL        the same, ahead of all that is WAITING
 *     AT WORK   `tasks`     its task    finish, when there is an answer; again, if the
 *                                       server did nothing and may be called once more
 *
 * canceled   A request that is not at work ends with HF_ECANCELED, if hf_req_may_end()
 *            allows it.  At work, only a WATCH or WATCH_STORE can end early; the store
 *            knows how (`end_watch`).
 * refused    No server accepts us (the dial knows why): all requests that are not at work
 *            fail with that.  But a LEAVE of a place that a server may have waits until
 *            it is possible.  One that no server has is left already.
 * lost       The session is dead.  All requests end with HF_EDOWN; those submitted from
 *            then on are for the next session.
 *
 * If the connection breaks, waiting requests wait on.  A task with a call in flight gets
 * NULL as its answer.  The store decides what happens to the others.
 *
 * A server works on one call of ours after the other, so a renewal waits for all that is in
 * flight.  So requests begin only while few calls are in flight; the others stay WAITING.
 *
 * submit() and cancel() only note things down; process() calls hf_remote_run().  done()
 * is called from wherever an answer is complete, and may submit and cancel.
 */
#ifndef HF_REMOTE_TASK_H
#define HF_REMOTE_TASK_H

#include "store/remote/dial.h"
#include "store/requests.h"
#include "store/store.h"

#include <stddef.h>

struct hf_remote;

/* A request at work.  A store embeds it first in a task of its own. */
struct hf_task {
    struct hf_remote *remote;
    struct hf_req    *req;
    struct hf_task   *next, **prev;                   /* all of them, oldest first */
    struct hf_task   *next_canceled, **prev_canceled; /* prev NULL: it is not canceled */
};

/* Provided by the store. */
struct hf_remote_ops {
    size_t task_size; /* of its own tasks; they begin as zeros behind struct hf_task */

    /* Begin to work on it.  It may be finished at once. */
    void (*begin)(struct hf_task *task);

    /* A WATCH or WATCH_STORE is to end with HF_ECANCELED: now, or as soon as its call
     * is answered. */
    void (*end_watch)(struct hf_task *task);

    /* A task ends with req->status, and has no call in flight: remove it from the store's
     * own lists. */
    void (*end_task)(struct hf_task *task);

    /* After done(), which may use memory of the task: free what belongs to it.  NULL:
     * nothing does. */
    void (*free_task)(struct hf_task *task);

    /* May a server have this place? */
    bool (*may_have)(const struct hf_remote *remote, uint64_t id);

    /* The session is dead, and the link is LOST: end all tasks, forget all places. */
    void (*lose)(struct hf_remote *remote);
};

/* Embedded first in every store that has a server. */
struct hf_remote {
    struct hf_store             base;
    const struct hf_remote_ops *ops;
    struct hf_dial             *dial; /* the link: requests are begun while it is READY */
    hf_time                     now;  /* of the process() under way */
    struct hf_requests          waiting;
    struct hf_requests          repeat;
    struct hf_task             *tasks, **tasks_end;
    struct hf_task             *canceled; /* WATCHes to be ended */
    size_t                      flying;   /* calls in flight */
    bool                        cancels;  /* requests that are not at work are canceled */
    bool                        closing;  /* done() is not called any more */
};

void hf_remote_init(struct hf_remote *remote, const struct hf_remote_ops *ops,
                    struct hf_dial *dial);

/* Both for close().  From now on done() is not called.  And, once no call is in flight:
 * end all tasks. */
void hf_remote_hush(struct hf_remote *remote);
void hf_remote_finish(struct hf_remote *remote);

/* For struct hf_store_impl. */
void hf_remote_submit(struct hf_store *store, struct hf_req *req);
void hf_remote_cancel(struct hf_store *store, struct hf_req *req);

/* Calls in flight while requests are begun, unless a group is larger. */
#define HF_FLYING_MAX 256

/* For the store: a call of a task is sent, and is answered or the connection broke. */
void hf_remote_sent(struct hf_remote *remote);
void hf_remote_answered(struct hf_remote *remote);

/* End requests that are canceled or refused, begin those that can be begun: some thousands,
 * but never a part of a group.  True: there is more, call process() again at once. */
bool hf_remote_run(struct hf_remote *remote);

/* The session is dead: see above. */
void hf_remote_lose(struct hf_remote *remote);

/* End it: done() is called, and the task is freed.  hf_task_fail() also sets errmsg. */
void hf_task_finish(struct hf_task *task, int status);
void hf_task_fail(struct hf_task *task, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The server did nothing, or nothing that lasted: begin the request again, ahead of all
 * that were not begun yet, in the same order.  The task is freed. */
void hf_task_again(struct hf_task *task);

#endif
