/* serve.h - holdfast serve: many locks for one program, by lines of JSON.
 *
 *     program ---- stdin ----> request.c ---> serve_lock.c ---> libholdfast
 *        ^                          |                                |
 *        |                          +------> question.c (threads) ---+
 *        |                                                           |
 *        +------ stdout <---- out_queue.c <---- answer.c <-----------+
 *
 * docs/serve.md is the protocol.  One thread reads requests, runs the library and
 * writes lines, and waits for nothing but poll().  Calls of the library that wait for
 * the store, such as hf_check(), are made by other threads.
 */
#ifndef SERVE_H
#define SERVE_H

#include "guard/guard_key.h"
#include "guard/session_guardian.h"
#include "serve/out_queue.h"
#include "serve/question.h"
#include "serve/request.h"

#include <holdfast.h>

#include <poll.h>
#include <pthread.h>

#define SERVE_PROTOCOL 1
#define SERVE_MOST     10000 /* locks, and open questions */

/* A lock of the program:
 *
 *     WAITING ---granted---> HELD ---the session ended, or it was broken---> LOST
 *        |                     |                                               |
 *        +------ release ------+-------------------- release ------------------+
 *        |                                           |
 *        v                                           v
 *     (failed)                                    LEAVING ---> (released)
 *
 *     state    the program knows     its handle is
 *     WAITING  nothing               HF_WAITING; HF_HELD until on_state is called
 *     HELD     `held`                HF_HELD; HF_LOST until on_state is called
 *     LOST     `held`, `lost`        HF_LOST
 *     LEAVING  that it released it   whatever it was before, HF_LEAVING or HF_IDLE
 */
enum lock_state { LOCK_WAITING, LOCK_HELD, LOCK_LOST, LOCK_LEAVING };

struct serve_lock {
    int64_t            id; /* of the request that acquired it */
    enum lock_state    state;
    bool               acquiring; /* its acquire is not answered yet */
    bool               follow;    /* the program wants to know its place */
    int64_t            release;   /* LEAVING: id of the request */
    int64_t            leave_by;  /* LEAVING: CLOCK_BOOTTIME ns, when to stop waiting */
    unsigned           questions; /* that other threads ask about it */
    struct hf_lock    *handle;
    struct serve_lock *next, **link; /* in serve.locks */
};

struct serve {
    struct hf_client *client;
    struct out_queue  out;
    struct questions  questions;

    struct serve_lock *locks;
    void              *by_id, *by_handle; /* of tsearch(3) */
    size_t             count, held, leaving;
    int64_t            deadline; /* of all that is held, CLOCK_BOOTTIME ns */
    int64_t            told;     /* as the program knows it */

    struct session_guardian guardian;
    struct guard_key        key;
    pthread_mutex_t         key_mutex; /* any thread may work with the store */

    char   line[REQUEST_LINE_MAX + 1];
    size_t length;
    bool   too_long; /* the rest of this line is skipped */
    bool   ended;    /* stdin or stdout has */
};

/* serve_input.c.  For poll(): no request is read while too much is queued for the
 * program, but the end of stdin is noticed. */
struct pollfd input_poll(const struct serve *serve);

/* Read requests, if there are any, and carry them out. */
void input_read(struct serve *serve, short events);

/* serve_lock.c.  Each of these answers the request. */
void lock_acquire(struct serve *serve, const struct request *request);
void lock_release(struct serve *serve, const struct request *request);
void lock_question(struct serve *serve, const struct request *request);

/* NULL: the program has no such lock. */
struct serve_lock *lock_find(struct serve *serve, int64_t id);

/* The library's callbacks; `serve` is their data. */
void lock_on_state(struct hf_lock *handle, enum hf_state state, int why, void *serve);
void lock_on_ask(struct hf_lock *handle, const char *reason, void *serve);
void lock_on_place(struct hf_lock *handle, int64_t ahead, void *serve);

/* A question about it was answered. */
void lock_answered(struct serve *serve, struct serve_lock *lock);

/* Answer releases that the store does not confirm.  Returns when to call it again,
 * in ms; -1: never. */
int lock_expire(struct serve *serve);

/* At the end: give all of them up, without waiting; later, when no other thread uses
 * them, forget them.  Their handles are left to hf_close(). */
void lock_give_up_all(struct serve *serve);
void lock_forget_all(struct serve *serve);

/* A lock that is held, or NULL. */
struct serve_lock *lock_any_held(const struct serve *serve);

/* answer.c: lines. */
void answer_hello(struct serve *serve);
void answer_failed(struct serve *serve, int64_t id, int error, const char *text);
void answer_held(struct serve *serve, const struct serve_lock *lock);
void answer_lost(struct serve *serve, const struct serve_lock *lock, bool expired);
void answer_released(struct serve *serve, const struct serve_lock *lock, int error);
void answer_place(struct serve *serve, const struct serve_lock *lock, int64_t ahead);
void answer_asked(struct serve *serve, const struct serve_lock *lock, const char *reason);
void answer_renewed(struct serve *serve);
void answer_stats(struct serve *serve, int64_t id);

/* As much of the answer as is wanted now; false: there is more. */
bool answer_question(struct serve *serve, struct question *question);

#endif
