/* client.h - one opened store, the engine on it, and the locks in it.
 *
 * What belongs to whom (see drive/drive.h):
 *   the one who turns   engine, store, changed, answered
 *   the mutex           all the rest that changes
 *   atomic              what hf_state() and its like read
 */
#ifndef HF_CLIENT_H
#define HF_CLIENT_H

#include "client/engine.h"
#include "drive/drive.h"
#include "holdfast.h"

#include <stdarg.h>
#include <stdatomic.h>

#define HF_HAD_CHAINS 256

struct hf_client {
    struct hf_store *store;
    struct hf_engine engine;
    struct hf_drive  drive;
    unsigned         generation; /* of the process that opened it */
    uint64_t         groups;     /* numbers given out; see struct hf_req */

    struct hf_lock  *changed;  /* moved during this turn */
    struct hf_query *answered; /* during this turn */

    struct hf_lock    *locks;
    struct hf_lock    *held, *had[HF_HAD_CHAINS]; /* see enum hf_lock_list */
    struct hf_lock    *inbox, **last_inbox;       /* locks with something to collect */
    struct hf_query   *queries;                   /* to collect */
    struct hf_lookout *lookouts;               /* those that start or stop, to collect */
    struct hf_survey  *survey;                 /* NULL: none */
    struct hf_survey  *stopped_surveys;        /* to collect */
    bool               surveyed;               /* a SURVEY was sent before */
    struct hf_notice  *notices, **last_notice; /* callbacks to make */
    bool               calling; /* some are being made, by the thread `caller` */
    pthread_t          caller;
    const void        *called;   /* the lock, lookout or survey that it is about */
    bool               closing;  /* no more are made */
    uint64_t           number;   /* of this client, in this process */
    uint64_t           failures; /* so far */
    char               errmsg[HF_ERRMSG_MAX]; /* of the last */
    bool               failing_wish; /* what fails now was started, and is no thread's */
    uint64_t           wish_failure; /* the last of these; 0: none */
    char               wish_errmsg[HF_ERRMSG_MAX];
    enum hf_link       link; /* as told; it begins as down */
    char               link_why[HF_ERRMSG_MAX];
    unsigned           losses; /* told of */
    char              *url;    /* without passwords */
    char              *given;  /* as it was written, for the will */
    int                ttl_ms; /* likewise */
    char              *command;
    bool               bare;   /* whoever can look at the store sees all of it */
    char              *note;   /* of locks that have none of their own, encoded */
    struct hf_warden  *warden; /* NULL: none */

    void (*on_state)(struct hf_lock *lock, enum hf_state state, int why, void *data);
    void (*on_ask)(struct hf_lock *lock, const char *reason, void *data);
    void (*on_place)(struct hf_lock *lock, int64_t ahead, void *data);
    void (*on_link)(struct hf_client *client, enum hf_link link, const char *why,
                    void *data);
    void (*on_will)(const void *will, size_t size, void *data);
    void *data;

    _Atomic(hf_time) alive_until;

    struct hf_client_stats stats;
};

extern const struct hf_drive_ops hf_client_ops;

/* HF_EFORK in a child of the process that opened it, HF_EINVAL for NULL, else 0. */
int hf_client_check(const struct hf_client *client);

/* What a call of the user's begins and ends with: check it, and take the mutex.  What
 * begin() leaves in `cancel` is to be handed to end(), unless it failed. */
int  hf_client_begin(struct hf_client *client, int *cancel);
void hf_client_end(struct hf_client *client, int cancel);

/* Wait until nobody turns the engine: until end() the store may be called.  With the mutex
 * held. */
void hf_client_await_turned(struct hf_client *client);

/* How long a call may wait. */
struct hf_limit {
    hf_time deadline;
    bool    once; /* not for a store that is not there */
};

struct hf_limit hf_client_limit(int64_t timeout_ms);

/* Wait until no callback about a lock, lookout or survey is under way, NULL: until none is at
 * all; unless it is the caller's own.  With the mutex held. */
void hf_client_settle(struct hf_client *client, const void *about);

/* HF_EINVAL if it is no name, HF_ESTORE if `fd` is none: with a message.  Returns 0, and
 * the descriptor.  With the mutex held. */
int hf_client_check_name(struct hf_client *client, const char *name);
int hf_client_need_fd(struct hf_client *client, int fd);

/* Which client it is: no other one of this process had that number. */
void hf_client_number(struct hf_client *client);

/* From now on hf_errmsg() tells this thread also of wishes that were started and failed. */
void hf_client_hear(const struct hf_client *client);

/* Remember a message for this thread, with the mutex held; returns `code`. */
__attribute__((format(printf, 3, 4))) int hf_client_fail(struct hf_client *client,
                                                         int code, const char *format,
                                                         ...);

#endif
