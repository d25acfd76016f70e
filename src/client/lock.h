/* lock.h - a handle on one lock, and the ideas that it consists of; see client.h for who
 * may touch what. */
#ifndef HF_LOCK_H
#define HF_LOCK_H

#include "client/asked.h"
#include "client/client.h"
#include "client/inbox.h"
#include "client/owner.h"
#include "client/publish.h"
#include "client/shelter.h"
#include "client/shown.h"
#include "client/stats.h"

/* What the user can set; see handle.c. */
struct hf_settings {
    char    *note;   /* encoded, lent to the job; NULL: the client's */
    uint32_t limit;  /* of waiters; 0: none */
    bool     follow; /* every change of the line */
};

/* How a kind of handle does what the user asks of it.  All with the mutex held. */
struct hf_lock_ops {
    int (*acquire)(struct hf_lock *lock, int64_t timeout_ms);
    int (*release)(struct hf_lock *lock);
    int (*acquire_start)(struct hf_lock *lock, int64_t timeout_ms);
    int (*release_start)(struct hf_lock *lock);
    int (*cancel)(struct hf_lock *lock);
    void (*free)(struct hf_lock *lock); /* frees it of its parts; NULL: it has none */
    /* What it is made of; lent as long as it is there.  NULL: of itself. */
    struct hf_lock *const *(*parts)(const struct hf_lock *lock, size_t *count);
};

/* Called like every callback, with no more than it is given: the lock may be in another
 * state by now. */
typedef void hf_lock_hook(struct hf_lock *lock, enum hf_state state, int why);

/* Of a lock that something is made of: the user is not called about it. */
struct hf_part {
    void         *whole; /* what is made of it; NULL: it is a lock of the user's */
    hf_lock_hook *hook;  /* called instead of the user; NULL: nobody is */
    void (*on_lost)(
        struct hf_lock *lock); /* the moment it is lost, with the mutex held */
};

/* The lists of a client that a lock can be in. */
enum hf_lock_list {
    HF_LIST_LOCKS, /* client->locks: all */
    HF_LIST_HELD,  /* client->held: those that are shown as HF_HELD */
    HF_LIST_HAD,   /* client->had: those that a thread has; see shelter.c */
    HF_LISTS
};

struct hf_lock_links {
    struct hf_lock *next, **prev; /* `prev` NULL: it is in none */
};

struct hf_lock {
    struct hf_job             job; /* first: the engine's; belongs to the one who turns */
    struct hf_client         *client;
    char                     *name;
    uint32_t                  hash; /* of the name */
    const struct hf_lock_ops *ops;
    void                     *made; /* what a handle that is made of others is */

    struct hf_settings settings;
    struct hf_letter   letter;  /* to the engine */
    struct hf_owner    owner;   /* which thread's it is */
    struct hf_shelter  shelter; /* whose place it lives in, and who lives in its */
    struct hf_shown    shown;   /* to the user */
    struct hf_asked    asked;
    struct hf_counts   counts;
    struct hf_part     part;

    bool                 freeing;  /* by hf_lock_free(): gone as soon as it is quiet */
    bool                 is_moved; /* it is in client->changed */
    struct hf_lock      *moved;    /* next there */
    struct hf_lock_links in[HF_LISTS];
};

extern const struct hf_lock_ops hf_plain_ops; /* for locks made of nothing else */

/* Of a lock that the user gives: NULL for NULL, which hf_client_begin() refuses. */
static inline struct hf_client *hf_lock_client(const struct hf_lock *lock)
{
    return lock != NULL ? lock->client : NULL;
}

int hf_lock_new(struct hf_client *client, const char *name, const struct hf_shape *shape,
                struct hf_lock **ret);

/* With the mutex held. */

/* Remember a message that fits `code`; returns it.  The second says whether it is lost,
 * or was never held.  The third is for a wish that no thread waits for. */
int  hf_lock_fail(struct hf_lock *lock, int code);
int  hf_lock_fail_not_held(struct hf_lock *lock);
void hf_lock_fail_wish(struct hf_lock *lock, int code);

/* What it needs before it can be wanted. */
int hf_lock_prepare(struct hf_lock *lock);

/* May it be released by this thread?  1: yes, and all there was to do is done, a
 * count went down. */
int hf_lock_check_release(struct hf_lock *lock);

/* Start giving up what is held or lost, whichever thread's it is.  Nothing waits here.
 * Returns what has to leave yet: the lock itself, which is still its owner's, or a host
 * that had lent it its place, which is ENDING.  NULL: nothing, and the lock is idle. */
struct hf_lock *hf_lock_let_go(struct hf_lock *lock);

/* From the engine, during a turn: to be published after it. */
void hf_lock_on_change(struct hf_job *job);

/* Put it first into the list that begins at `head`, out of where it was; NULL: into none. */
void hf_lock_link(struct hf_lock *lock, enum hf_lock_list list, struct hf_lock **head);

static inline struct hf_lock *hf_lock_next(const struct hf_lock *lock,
                                           enum hf_lock_list     list)
{
    return lock->in[list].next;
}

/* Frees the memory; the job must be quiet, or the engine be gone. */
void hf_lock_destroy(struct hf_lock *lock);

#endif
