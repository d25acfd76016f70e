/* lock.h - a handle on one lock, and the parts that it consists of; client.h says which
 * thread may touch what. */
#ifndef HF_LOCK_H
#define HF_LOCK_H

#include "client/callback.h"
#include "client/client.h"
#include "client/handle/nested.h"
#include "client/handle/owner.h"
#include "client/handle/published.h"
#include "client/pending.h"

/* What the user can set; see handle.c. */
struct hf_settings {
    char    *note;   /* encoded, lent to the job; NULL: the client's */
    uint32_t limit;  /* of waiters; 0: none */
    bool     follow; /* every change of the line */
};

/* Whether somebody asked for the lock; see asked.c. */
struct hf_asked {
    unsigned count; /* since it is held */
    int      fd;    /* -1: not wanted yet */
    char     reason[HF_ERRMSG_MAX];
};

/* Statistics; see stats.c. */
struct hf_counts {
    struct hf_stats stats;
    hf_time         wanted; /* since when it waits, or last waited */
    hf_time         held;   /* since when it is held, or was */
    hf_time         left;   /* when its release began; 0: none is in progress */
    unsigned        losses; /* sessions that had been lost by then */
};

/* How a kind of handle carries out the user's calls.  All with the mutex held. */
struct hf_lock_ops {
    int (*acquire)(struct hf_lock *lock, int64_t timeout_ms);
    int (*release)(struct hf_lock *lock);
    int (*acquire_start)(struct hf_lock *lock, int64_t timeout_ms);
    int (*release_start)(struct hf_lock *lock);
    int (*cancel)(struct hf_lock *lock);
    void (*free)(struct hf_lock *lock); /* frees the set, not its members; NULL: none */
    /* The members of a set, lent as long as it exists.  NULL: it is no set. */
    struct hf_lock *const *(*members)(const struct hf_lock *lock, size_t *count);
};

/* A callback inside the library, called instead of on_state.  The lock may be in another
 * state by now: use the arguments. */
typedef void hf_lock_hook(struct hf_lock *lock, enum hf_state state, int why);

/* Of a lock that belongs to a set or an election: the user gets no callbacks about it. */
struct hf_member {
    void         *of;   /* the set or election; NULL: none */
    hf_lock_hook *hook; /* called instead of on_state; NULL: nobody is */
    void (*on_lost)(struct hf_lock *lock); /* at once, with the mutex held */
};

/* The lists of a client that a lock can be in. */
enum hf_lock_list {
    HF_LIST_LOCKS, /* client->locks: all */
    HF_LIST_HELD,  /* client->held: those published as HF_HELD */
    HF_LIST_OWNED, /* client->owned: those that a thread owns; see nested.c */
    HF_LISTS
};

struct hf_lock_links {
    struct hf_lock *next, **prev; /* `prev` NULL: it is in none */
};

struct hf_lock {
    struct hf_job     job; /* first; belongs to the thread that turns the engine */
    struct hf_client *client;
    char             *name;
    uint32_t          hash; /* of the name */
    const struct hf_lock_ops *ops;
    void                     *set; /* of hf_all_of(): its members; else NULL */

    struct hf_settings  settings;
    struct hf_pending   pending;   /* operations for the engine */
    struct hf_owner     owner;     /* the thread that has the handle */
    struct hf_nested    nested;    /* the handle whose place it uses, or the reverse */
    struct hf_published published; /* the state that the user sees */
    struct hf_asked     asked;
    struct hf_counts    counts;
    struct hf_member    member;

    bool                 freeing;    /* by hf_lock_free(): as soon as it is quiet */
    bool                 is_changed; /* it is in client->changed */
    struct hf_lock      *next_changed;
    struct hf_lock_links in[HF_LISTS];
};

/* The client of a lock that the user passes: NULL for NULL, which hf_client_begin()
 * refuses. */
static inline struct hf_client *hf_lock_client(const struct hf_lock *lock)
{
    return lock != NULL ? lock->client : NULL;
}

int hf_lock_new(struct hf_client *client, const char *name, const struct hf_shape *shape,
                struct hf_lock **ret);

/* With the mutex held, all that follow. */

/* Remember a message that fits `code`; returns it.  The second picks the code: lost, or
 * never held.  The third is for an acquire that no thread waits for. */
int  hf_lock_fail(struct hf_lock *lock, int code);
int  hf_lock_fail_not_held(struct hf_lock *lock);
void hf_lock_fail_started(struct hf_lock *lock, int code);

/* Allocate what an acquire needs. */
int hf_lock_prepare(struct hf_lock *lock);

/* May this thread release the lock?  1: yes, and only a count went down: nothing else
 * is to be done. */
int hf_lock_check_release(struct hf_lock *lock);

/* Start to give up a lock that is held or lost, by whatever thread.  Does not wait.
 * Returns the lock that still has to leave: `lock` itself, which is still its owner's, or
 * its outer one, which is ENDING.  NULL: none, and `lock` is idle. */
struct hf_lock *hf_lock_let_go(struct hf_lock *lock);

/* From the engine, during a turn: have the lock published after it. */
void hf_lock_on_change(struct hf_job *job);

/* Move it to the front of the list that begins at `head`; NULL: into none. */
void hf_lock_link(struct hf_lock *lock, enum hf_lock_list list, struct hf_lock **head);

static inline struct hf_lock *hf_lock_next(const struct hf_lock *lock,
                                           enum hf_lock_list     list)
{
    return lock->in[list].next;
}

/* Free the memory; the job must be quiet, or the engine be gone. */
void hf_lock_destroy(struct hf_lock *lock);

/* asked.c.  publish(): what the engine has heard; reset(): the lock is not held any
 * more. */
void hf_asked_init(struct hf_asked *asked);
void hf_asked_finish(struct hf_asked *asked);
void hf_asked_publish(struct hf_lock *lock);
void hf_asked_reset(struct hf_lock *lock);

/* stats.c.  count(): the state changed.  renewed(): before alive_until changes.
 * publish(): after a turn. */
void hf_stats_init(struct hf_stats *stats);
void hf_stats_count(struct hf_lock *lock, enum hf_state before, enum hf_state after,
                    int why);
void hf_stats_renewed(struct hf_client *client);
void hf_stats_publish(struct hf_client *client);

/* acquire.c, release.c: the calls of a handle that is no set. */
extern const struct hf_lock_ops hf_plain_ops;

int hf_plain_acquire(struct hf_lock *lock, int64_t timeout_ms);
int hf_plain_acquire_start(struct hf_lock *lock, int64_t timeout_ms);
int hf_plain_release(struct hf_lock *lock);
int hf_plain_release_start(struct hf_lock *lock);
int hf_plain_cancel(struct hf_lock *lock);

#endif
