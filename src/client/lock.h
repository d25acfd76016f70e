/* lock.h - a handle on one lock; see client.h for who may touch what. */
#ifndef HF_LOCK_H
#define HF_LOCK_H

#include "client/client.h"

/* A thread that waits for the handle itself. */
struct hf_turn {
    struct hf_lock *lock;
    unsigned        cancels; /* as they were when it came */
    struct hf_turn *next;
};

/* What a handle that is made of others does in its own way. */
struct hf_lock_ops {
    int (*acquire)(struct hf_lock *lock, int64_t timeout_ms);
    int (*release)(struct hf_lock *lock);
    int (*acquire_start)(struct hf_lock *lock, int64_t timeout_ms);
    int (*release_start)(struct hf_lock *lock);
    int (*cancel)(struct hf_lock *lock);
    void (*free)(struct hf_lock *lock); /* with the mutex held; frees it of its parts */
    /* What it is made of; lent as long as it is there. */
    struct hf_lock *const *(*parts)(const struct hf_lock *lock, size_t *count);
};

/* Called like every callback, with no more than it is given: the lock may be in another
 * state by now. */
typedef void hf_lock_hook(struct hf_lock *lock, enum hf_state state, int why);

struct hf_lock {
    struct hf_job     job; /* first: the engine's; belongs to the one who turns */
    struct hf_client *client;
    char             *name;
    char             *note;  /* encoded, lent to the job */
    struct hf_lock   *moved; /* next in client->changed */
    bool              is_moved;

    /* What is to be collected. */
    bool            want, once, drop, lessen, freeing;
    uint64_t        group; /* wanted together with others; see struct hf_req */
    struct hf_shape lesser;
    hf_time         deadline;
    int             drop_why;
    bool            in_inbox;
    struct hf_lock *inbox;

    /* The handle among threads. */
    bool            busy;  /* somebody acquires or holds it */
    bool            bound; /* and it is the thread `owner` */
    bool            any_thread;
    pthread_t       owner;
    unsigned        depth;
    unsigned        cancels;
    struct hf_turn *turns;
    uint32_t        limit;
    bool            follow;
    bool            lessened; /* held, but as a reader only */

    /* A reader under a lock of the same name that its thread holds already needs
     * no place of its own. */
    struct hf_lock *shelter;
    unsigned        sheltered; /* how many are under this one */
    bool            lent;      /* released, but those still have its place */
    uint64_t        lent_token;
    bool            fallen; /* it was, and that one is no longer held */

    int      lost_fd;
    int      ask_fd;
    unsigned asks; /* as published */
    char     asked[HF_ERRMSG_MAX];

    struct hf_stats stats;
    hf_time         wished, held;

    const struct hf_lock_ops *ops; /* NULL: an ordinary lock */

    /* For what is made of locks: the user is not called about it, but the hook,
     * if there is one; on_lost with the mutex held, the moment it is lost. */
    bool          inner;
    hf_lock_hook *hook;
    void (*on_lost)(struct hf_lock *lock);
    void *hook_data;
    char  errmsg[HF_ERRMSG_MAX]; /* what the store said, as published */

    uint64_t place; /* the id of what is held, as published */

    atomic_int       state;
    atomic_int       why;
    atomic_int       slot;
    _Atomic uint64_t token;
    _Atomic int64_t  ahead;

    struct hf_lock *next, **prev;
};

int hf_lock_new(struct hf_client *client, const char *name, const struct hf_shape *shape,
                struct hf_lock **ret);

/* With the mutex held. */

/* Remember a message that fits `code`; returns it. */
int hf_lock_fail(struct hf_lock *lock, int code);

/* The handle among threads.  Does the calling thread hold it?  Count one more.
 * Wait until no other thread uses it, and take it; or take it for no thread in
 * particular; let the next one have it. */
bool hf_lock_is_mine(const struct hf_lock *lock);
int  hf_lock_acquire_again(struct hf_lock *lock);
int  hf_lock_take_handle(struct hf_lock *lock, bool once, hf_time deadline);
int  hf_lock_take_for_nobody(struct hf_lock *lock);
void hf_lock_give_back(struct hf_lock *lock);

/* What it needs before it can be wanted. */
int hf_lock_prepare(struct hf_lock *lock);

/* May it be released by this thread?  1: yes, and all there was to do is done, a
 * count went down. */
int hf_lock_check_release(struct hf_lock *lock);

/* Start giving it up.  1: there is nothing to wait for. */
int hf_lock_start_release(struct hf_lock *lock);

void hf_lock_collect(struct hf_lock *lock);
void hf_lock_publish(struct hf_lock *lock);
void hf_lock_show(struct hf_lock *lock, enum hf_state state, int why);
void hf_lock_set_alarm(struct hf_lock *lock);
void hf_lock_post_want(struct hf_lock *lock, bool once, hf_time deadline);
void hf_lock_post_drop(struct hf_lock *lock, int why);
void hf_lock_post_lessen(struct hf_lock *lock, const struct hf_shape *shape);
void hf_lock_post_free(struct hf_lock *lock);

/* Frees the memory; the job must be quiet. */
void hf_lock_destroy(struct hf_lock *lock);

#endif
