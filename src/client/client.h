/* client.h - one opened store, the engine on it, and the locks in it.
 *
 * Who may touch what (see drive/drive.h):
 *   the thread that turns the engine   engine, store, changed, answered
 *   a thread that has the mutex        everything else that changes
 *   any thread                         atomics, for hf_state() and the like
 */
#ifndef HF_CLIENT_H
#define HF_CLIENT_H

#include "client/engine.h"
#include "drive/drive.h"

#include <stdarg.h>
#include <stdatomic.h>

#define HF_OWNED_CHAINS 256

struct hf_client {
    struct hf_store *store;
    struct hf_engine engine;
    struct hf_drive  drive;
    unsigned         generation; /* of the process that opened it */
    uint64_t         groups;     /* numbers given out; see struct hf_req */

    struct hf_lock       *changed;  /* locks that changed during this turn */
    struct hf_sync_query *answered; /* during this turn */

    struct hf_lock *locks;
    struct hf_lock *held, *owned[HF_OWNED_CHAINS]; /* see enum hf_lock_list */

    /* What callers posted for the engine, to be collected before the next turn. */
    struct hf_lock        *pending, **last_pending; /* locks with pending operations */
    struct hf_sync_query  *queries;
    struct hf_lock_watch  *lock_watches; /* that start or stop */
    struct hf_store_watch *watch;        /* NULL: none */
    struct hf_store_watch *stopped_watches;
    bool                   watched_store; /* a WATCH_STORE was sent before */

    /* Callbacks that are queued, and the one that runs. */
    struct hf_callback *callbacks, **last_callback;
    bool                calling; /* the thread `caller` runs them */
    pthread_t           caller;
    const void         *called;  /* the lock, lock watch or store watch it is about */
    bool                closing; /* no more are called */

    /* See errmsg.c. */
    uint64_t number;                /* of this client, in this process */
    uint64_t failures;              /* so far */
    char     errmsg[HF_ERRMSG_MAX]; /* of the last */
    bool     failing_started;       /* the failing acquire was started by no thread */
    uint64_t started_failure;       /* number of the last such failure; 0: none */
    char     started_errmsg[HF_ERRMSG_MAX];

    /* As last published; it begins as down. */
    enum hf_link link;
    char         link_why[HF_ERRMSG_MAX];
    unsigned     losses;

    char               *url;    /* without passwords */
    char               *given;  /* with passwords, for the session key */
    int                 ttl_ms; /* for the session key */
    char               *command;
    bool                bare;     /* no public_command: others see all of `command` */
    char               *note;     /* of locks that have none of their own, encoded */
    struct hf_guardian *guardian; /* NULL: none */

    void (*on_state)(struct hf_lock *lock, enum hf_state state, int why, void *data);
    void (*on_ask)(struct hf_lock *lock, const char *reason, void *data);
    void (*on_place)(struct hf_lock *lock, int64_t ahead, void *data);
    void (*on_link)(struct hf_client *client, enum hf_link link, const char *why,
                    void *data);
    void (*on_session_key)(const void *key, size_t size, void *data);
    void *data;

    _Atomic(hf_time) alive_until;

    struct hf_client_stats stats;
    struct hf_stats        all_stats; /* of all handles, freed ones included */
};

extern const struct hf_drive_ops hf_client_ops;

/* HF_EFORK in a child of the process that opened it, HF_EINVAL for NULL, else 0. */
int hf_client_check(const struct hf_client *client);

/* Every public call begins and ends with these: check the client, and take the mutex.
 * Pass the value that begin() stores in `cancel` to end(), unless begin() failed. */
int  hf_client_begin(struct hf_client *client, int *cancel);
void hf_client_end(struct hf_client *client, int cancel);

/* How long a call may wait. */
struct hf_limit {
    hf_time deadline;
    bool    once; /* do not wait for an unreachable store */
};

struct hf_limit hf_client_limit(int64_t timeout_ms);

/* HF_EINVAL if it is no name, HF_ESTORE if `fd` is none: with a message.  Returns 0, and
 * the descriptor.  With the mutex held. */
int hf_client_check_name(struct hf_client *client, const char *name);
int hf_client_need_fd(struct hf_client *client, int fd);

/* Give the client a number that no other client of this process ever had. */
void hf_client_number(struct hf_client *client);

/* From now on hf_errmsg() in this thread also reports failures of acquires that were
 * started without waiting. */
void hf_client_hear_started(const struct hf_client *client);

/* Remember a message for this thread, with the mutex held; returns `code`. */
__attribute__((format(printf, 3, 4))) int hf_client_fail(struct hf_client *client,
                                                         int code, const char *format,
                                                         ...);

/* Copy `given`, a struct that starts with its size, to `ret`, which has defaults in its
 * `known` bytes.  A program built with an older header has a shorter struct: the rest
 * keeps its defaults.  With a newer header it is longer: members that we do not know
 * must be zero, or we would ignore a setting of the program.  `init` is the macro to start
 * from.  HF_EINVAL with the reason in `errmsg`; if the size makes sense, `ret` has the
 * known members. */
int hf_options_copy(const void *given, size_t known, const char *init, void *ret,
                    char *errmsg);

/* The options of hf_open(), checked.  HF_EINVAL with the reason in `errmsg`; ret->error
 * is set even then, if it is known. */
int hf_options_read(const struct hf_options *given, struct hf_options *ret, char *errmsg);

#endif
