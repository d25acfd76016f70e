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

struct hf_lock {
    struct hf_job     job; /* first: the engine's; belongs to the one who turns */
    struct hf_client *client;
    char             *name;
    char             *note;    /* encoded, lent to the job */
    struct hf_lock   *moved;   /* next in client->changed */
    bool              is_moved;

    /* What is to be collected. */
    bool            want, once, drop, freeing;
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
    int             lost_fd;
    char            errmsg[HF_ERRMSG_MAX]; /* what the store said, as published */

    atomic_int       state;
    atomic_int       why;
    atomic_int       slot;
    _Atomic uint64_t token;

    struct hf_lock *next, **prev;
};

int hf_lock_new(struct hf_client *client, const char *name, const struct hf_shape *shape,
                struct hf_lock **ret);

/* With the mutex held. */
void hf_lock_collect(struct hf_lock *lock);
void hf_lock_publish(struct hf_lock *lock);
void hf_lock_show(struct hf_lock *lock, enum hf_state state, int why);
void hf_lock_set_alarm(struct hf_lock *lock);
void hf_lock_post_want(struct hf_lock *lock, bool once, hf_time deadline);
void hf_lock_post_drop(struct hf_lock *lock, int why);
void hf_lock_post_free(struct hf_lock *lock);

/* Frees the memory; the job must be quiet. */
void hf_lock_destroy(struct hf_lock *lock);

#endif
