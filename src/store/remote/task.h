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
 *     REPEAT    `repeat`    NULL        the same, before all that is WAITING
 *     AT WORK   `tasks`     its task    finish, when there is an answer; again, if the
 *                                       server did nothing and may be called once more
 *
 * canceled   What is not at work ends with HF_ECANCELED, if hf_req_may_end() says so.  At
 *            work only a WATCH or SURVEY can end early; the store knows how (`end_watch`).
 * refused    No server wants us (the dial says why): all that is not at work is told so.
 *            But a place that a server may have is to be left, whenever that will be
 *            possible: such a LEAVE waits on.  One that no server has is left already.
 * lost       The session is dead.  All requests end with HF_EDOWN: what comes from then on
 *            is for the next session.
 * The connection broke: what waits waits on.  A task with a call in flight ends by the
 * answer that there is none.  What becomes of the others is up to the store.
 *
 * submit() and cancel() only note things down; process() calls hf_remote_run().  done() is
 * called from wherever an answer is complete, and may submit and cancel.
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

/* What a store brings. */
struct hf_remote_ops {
    size_t task_size; /* of its own tasks; they begin as zeros behind struct hf_task */

    /* Begin to work on it.  It may be finished at once. */
    void (*begin)(struct hf_task *task);

    /* A WATCH or SURVEY is to end with HF_ECANCELED: now, or as soon as its call is answered. */
    void (*end_watch)(struct hf_task *task);

    /* A task ends: take it out of all lists but ours.  Nothing of it flies any more.
     * req->status is what it ends with. */
    void (*end_task)(struct hf_task *task);

    /* Behind done(), which may have been lent something: free what only the task has.
     * NULL: nothing. */
    void (*free_task)(struct hf_task *task);

    /* May a server have this place? */
    bool (*may_have)(const struct hf_remote *remote, uint64_t id);

    /* The session is dead, and that is told: end all tasks, forget all places. */
    void (*lose)(struct hf_remote *remote);
};

/* The part that every store with a server has.  Embed it first. */
struct hf_remote {
    struct hf_store             base;
    const struct hf_remote_ops *ops;
    struct hf_dial             *dial; /* the link: requests are begun while it is READY */
    hf_time                     now;  /* of the process() under way */
    struct hf_requests          waiting;
    struct hf_requests          repeat;
    struct hf_task             *tasks, **tasks_end;
    struct hf_task             *canceled; /* WATCHes that are to end */
    bool                        cancels;  /* some that are not at work are canceled */
    bool                        closing;  /* done() is not called any more */
};

void hf_remote_init(struct hf_remote *remote, const struct hf_remote_ops *ops,
                    struct hf_dial *dial);

/* Both of close(): nobody is told anything from now on; and, when nothing flies any more,
 * end all tasks. */
void hf_remote_hush(struct hf_remote *remote);
void hf_remote_finish(struct hf_remote *remote);

/* For struct hf_store_impl. */
void hf_remote_submit(struct hf_store *store, struct hf_req *req);
void hf_remote_cancel(struct hf_store *store, struct hf_req *req);

/* End what is canceled or refused, begin what can be begun; some thousands, and no part of
 * a group.  True: there is more, call process() again at once. */
bool hf_remote_run(struct hf_remote *remote);

/* The session is dead: see above. */
void hf_remote_lose(struct hf_remote *remote);

/* It ends: done() is called, the task is gone.  The other with errmsg set. */
void hf_task_finish(struct hf_task *task, int status);
void hf_task_fail(struct hf_task *task, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The server did nothing of it, or nothing that is left: it is begun again, before all that
 * was not begun yet, in the same order.  The task is gone. */
void hf_task_again(struct hf_task *task);

#endif
