/* wait.h - waiting in a ZooKeeper line.
 *
 *   decide.c  what a waiter does next: pure
 *   wait.c    the WATCH of a place that has not been granted
 */
#ifndef HF_ZK_WAIT_H
#define HF_ZK_WAIT_H

#include "store/zookeeper/line/own.h"

/* ---- decide.c ----------------------------------------------------------------------- */

/* The next step of a waiter. */
enum hf_zk_step {
    HF_ZK_PASS,   /* it holds the lock, if its node still exists */
    HF_ZK_REFUSE, /* it cannot wait in this line: hf_zk_judge() says why */
    HF_ZK_SLEEP,
    HF_ZK_LIST,
    HF_ZK_LISTEN, /* to the places of hf_zk_choose_places() */
};

#define HF_ZK_CHOOSE_MAX 64

struct hf_zk_waiter {
    const struct hf_zk_line *line;
    size_t                   me; /* its index in the last listing */
    const struct hf_shape   *mine;
    bool                     hears_all; /* it listens to the folder */
};

enum hf_zk_step hf_zk_decide(const struct hf_zk_waiter *waiter);
/* Which places to listen to; 0: too many, so listen to the folder. */
size_t hf_zk_choose_places(const struct hf_zk_waiter *waiter,
                           size_t                     ret[HF_ZK_CHOOSE_MAX]);
/* The nearest heard places that together keep it out. */
size_t hf_zk_depends_on(const struct hf_zk_waiter *waiter, size_t ret[HF_ZK_CHOOSE_MAX]);

/* The verdict on a place, given everything that may be ahead of it. */
enum hf_verdict hf_zk_judge(const struct hf_zk_line *line, size_t me,
                            const struct hf_shape *mine);
/* The shape of a place, as one of the shape `mine` has to count it. */
struct hf_shape hf_zk_shape_to(const struct hf_zk_child *child,
                               const struct hf_shape    *mine);

/* Its node is gone. */
void hf_zk_place_end(struct hf_zk_place *place);

/* ---- wait.c ------------------------------------------------------------------------- */

/* A WATCH begins to wait at the task's place; it ends. */
void hf_zk_wait_begin(struct hf_zk *zk, struct hf_zk_task *task);
void hf_zk_wait_end(struct hf_zk *zk, struct hf_zk_own *own);

/* Decide again: for one place; for all of ours in a line; the same after a listing. */
void hf_zk_wait_review(struct hf_zk *zk, struct hf_zk_own *own);
void hf_zk_wait_review_all(struct hf_zk *zk, struct hf_zk_line *line);
void hf_zk_wait_listed(struct hf_zk *zk, struct hf_zk_line *line);
/* The line could not be listed. */
void hf_zk_wait_list_failed(struct hf_zk *zk, struct hf_zk_line *line, int error);

void hf_zk_wait_resume(struct hf_zk *zk); /* on a new connection */
void hf_zk_wait_run(struct hf_zk *zk);
/* The server showed a node that does not exist: every waiter lists again on a new
 * connection. */
void hf_zk_wait_forget(struct hf_zk *zk);

#endif
