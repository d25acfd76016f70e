/* serve_lock.c - the locks of the program; serve.h draws their states. */
#include "serve/serve.h"

#include "clock.h"
#include "session.h"

#include <assert.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- All of them ------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    const struct serve_lock *one = a, *other = b;

    return one->id < other->id ? -1 : one->id > other->id;
}

static int compare_handles(const void *a, const void *b)
{
    uintptr_t one = (uintptr_t)((const struct serve_lock *)a)->handle;
    uintptr_t other = (uintptr_t)((const struct serve_lock *)b)->handle;

    return one < other ? -1 : one > other;
}

struct serve_lock *lock_find(struct serve *serve, int64_t id)
{
    struct serve_lock   like = { .id = id };
    struct serve_lock **found = tfind(&like, &serve->by_id, compare_ids);

    return found != NULL ? *found : NULL;
}

static struct serve_lock *find_by_handle(struct serve *serve, struct hf_lock *handle)
{
    struct serve_lock   like = { .handle = handle };
    struct serve_lock **found = tfind(&like, &serve->by_handle, compare_handles);

    return found != NULL ? *found : NULL;
}

/* From now on the program may use the id again. */
static void give_id_back(struct serve *serve, struct serve_lock *lock)
{
    if (lock_find(serve, lock->id) == lock)
        tdelete(lock, &serve->by_id, compare_ids);
}

/* All but the handle. */
static void drop(struct serve *serve, struct serve_lock *lock)
{
    give_id_back(serve, lock);
    tdelete(lock, &serve->by_handle, compare_handles);
    *lock->link = lock->next;
    if (lock->next != NULL)
        lock->next->link = lock->link;
    serve->count--;
    free(lock);
}

static void forget(struct serve *serve, struct serve_lock *lock)
{
    struct hf_lock *handle = lock->handle;

    drop(serve, lock);
    hf_lock_free(handle);
}

static bool remember(struct serve *serve, struct serve_lock *lock)
{
    if (tsearch(lock, &serve->by_id, compare_ids) == NULL)
        return false;
    if (tsearch(lock, &serve->by_handle, compare_handles) == NULL) {
        tdelete(lock, &serve->by_id, compare_ids);
        return false;
    }
    lock->next = serve->locks;
    lock->link = &serve->locks;
    if (lock->next != NULL)
        lock->next->link = &lock->next;
    serve->locks = lock;
    serve->count++;
    return true;
}

struct serve_lock *lock_any_held(const struct serve *serve)
{
    struct serve_lock *lock = serve->held > 0 ? serve->locks : NULL;

    while (lock != NULL && lock->state != LOCK_HELD)
        lock = lock->next;
    return lock;
}

static void move(struct serve *serve, struct serve_lock *lock, enum lock_state to)
{
    static const bool arrow[4][4] = {
        [LOCK_WAITING] = { [LOCK_HELD] = true, [LOCK_LEAVING] = true },
        [LOCK_HELD] = { [LOCK_LOST] = true, [LOCK_LEAVING] = true },
        [LOCK_LOST] = { [LOCK_LEAVING] = true },
    };

    assert(arrow[lock->state][to]);
    serve->held -= lock->state == LOCK_HELD;
    serve->held += to == LOCK_HELD;
    serve->leaving += to == LOCK_LEAVING;
    lock->state = to;
}

/* ---- Acquiring --------------------------------------------------------------------- */

static int make_handle(struct hf_client *client, const struct request *request,
                       struct hf_lock **ret)
{
    switch (request->kind) {
    case KIND_READER:
        return hf_reader(client, request->name, ret);
    case KIND_WRITER:
        return hf_writer(client, request->name, ret);
    case KIND_SEMAPHORE:
        return hf_semaphore(client, request->name, (uint32_t)request->slots,
                            (uint32_t)request->weight, ret);
    case KIND_CLAIM:
        return hf_claim(client, request->name, ret);
    case KIND_MUTEX:
        break;
    }
    return hf_mutex(client, request->name, ret);
}

static int start(struct serve *serve, struct serve_lock *lock,
                 const struct request *request)
{
    struct hf_lock *handle = lock->handle;
    int             r = 0;

    if (request->has_text)
        r = hf_set_note(handle, request->text);
    if (r == 0)
        r = hf_set_max_waiters(handle, (uint32_t)request->max_waiters);
    if (r == 0)
        r = hf_set_follow(handle, request->place);
    if (r == 0 && !remember(serve, lock))
        r = HF_ENOMEM;
    if (r < 0) {
        hf_lock_free(handle);
        free(lock);
        return r;
    }
    r = hf_acquire_start(handle, request->timeout_ms);
    if (r < 0)
        forget(serve, lock);
    return r;
}

void lock_acquire(struct serve *serve, const struct request *request)
{
    struct serve_lock *lock = calloc(1, sizeof *lock);

    if (lock_find(serve, request->id) != NULL || serve->count >= SERVE_MOST) {
        bool full = serve->count >= SERVE_MOST;
        answer_failed(serve, request->id, full ? HF_EFULL : HF_EINVAL,
                      full ? "too many locks: release some first"
                           : "\"id\" is that of another lock, which is not released yet");
        free(lock);
        return;
    }
    int r = lock == NULL ? HF_ENOMEM : make_handle(serve->client, request, &lock->handle);
    if (r < 0) {
        free(lock);
    } else {
        lock->id = request->id;
        lock->acquiring = true;
        lock->follow = request->place;
        r = start(serve, lock, request);
    }
    if (r < 0)
        answer_failed(serve, request->id, r,
                      r == HF_ENOMEM ? hf_strerror(r) : hf_errmsg(serve->client));
}

/* The last message of the library may be about another lock, if the code alone says
 * enough. */
static const char *failure(struct serve *serve, int why)
{
    switch (why) {
    case HF_EBUSY:
    case HF_ETIMEOUT:
    case HF_ECANCELED:
    case HF_ELOST:
        return hf_strerror(why);
    default:
        return hf_errmsg(serve->client);
    }
}

static void not_acquired(struct serve *serve, struct serve_lock *lock, int why)
{
    if (lock->acquiring)
        answer_failed(serve, lock->id, why, failure(serve, why));
    lock->acquiring = false;
}

/* ---- Releasing --------------------------------------------------------------------- */

/* It stays while another thread uses its handle. */
static void released(struct serve *serve, struct serve_lock *lock, int why)
{
    assert(lock->state == LOCK_LEAVING);
    if (lock->release > 0) {
        answer_released(serve, lock, why);
        serve->leaving--;
    }
    lock->release = 0;
    if (lock->questions == 0)
        forget(serve, lock);
    else
        give_id_back(serve, lock);
}

void lock_answered(struct serve *serve, struct serve_lock *lock)
{
    if (--lock->questions == 0 && lock->state == LOCK_LEAVING && lock->release == 0)
        forget(serve, lock);
}

void lock_release(struct serve *serve, const struct request *request)
{
    struct serve_lock *lock = lock_find(serve, request->lock);
    char               text[80];

    if (lock == NULL || lock->state == LOCK_LEAVING) {
        snprintf(text, sizeof text, "there is no lock %lld%s", (long long)request->lock,
                 lock != NULL ? " any more: it is being released" : "");
        answer_failed(serve, request->id, HF_ENOTFOUND, text);
        return;
    }
    bool waiting = lock->state == LOCK_WAITING;
    bool lost = !waiting && hf_left_ms(lock->handle) == 0; /* whatever the store says */
    lock->leave_by = waiting ? INT64_MAX : session_deadline(lock->handle);
    lock->release = request->id;
    move(serve, lock, LOCK_LEAVING);
    /* It may have been granted a moment ago: then on_state is yet to be called. */
    int r = waiting ? hf_cancel(lock->handle) : hf_release_start(lock->handle);
    if (r < 0 || lost)
        released(serve, lock, lost ? HF_ELOST : r);
}

/* As hf_release() does: past its deadline the lock is somebody else's anyway, however the
 * store may answer later. */
int lock_expire(struct serve *serve)
{
    int64_t now = clock_boot_ns(), soonest = INT64_MAX;

    if (serve->leaving == 0)
        return -1;
    for (struct serve_lock *lock = serve->locks, *next; lock != NULL; lock = next) {
        next = lock->next;
        if (lock->state != LOCK_LEAVING || lock->release == 0)
            continue;
        if (lock->leave_by <= now)
            released(serve, lock, HF_EDOWN);
        else if (lock->leave_by < soonest)
            soonest = lock->leave_by;
    }
    int64_t ms = (soonest - now) / NS_PER_MS + 1;
    return soonest == INT64_MAX ? -1 : ms < INT_MAX ? (int)ms : INT_MAX;
}

/* ---- The library's callbacks --------------------------------------------------------- */

static void left(struct serve *serve, struct serve_lock *lock, enum hf_state state,
                 int why)
{
    if (state == HF_HELD) { /* granted when it was given up */
        not_acquired(serve, lock, HF_ECANCELED);
        lock->leave_by = session_deadline(lock->handle);
        hf_release_start(lock->handle);
    } else if (state == HF_LOST) {
        hf_release_start(lock->handle);
    } else if (lock->acquiring) { /* it held nothing that the store has to confirm */
        not_acquired(serve, lock, HF_ECANCELED);
        released(serve, lock, 0);
    } else if (state == HF_IDLE) {
        released(serve, lock, why);
    }
}

static void granted(struct serve *serve, struct serve_lock *lock)
{
    char reason[EVENT_TEXT_CUT];

    move(serve, lock, LOCK_HELD);
    lock->acquiring = false;
    serve->told = serve->deadline = session_deadline(lock->handle);
    answer_held(serve, lock);
    if (hf_asked(lock->handle, reason, sizeof reason))
        answer_asked(serve, lock, reason); /* in the same moment */
}

void lock_on_state(struct hf_lock *handle, enum hf_state state, int why, void *data)
{
    struct serve      *serve = data;
    struct serve_lock *lock = find_by_handle(serve, handle);

    if (lock == NULL || state == HF_WAITING || serve->ended)
        return;
    if (lock->state == LOCK_LEAVING) {
        left(serve, lock, state, why);
    } else if (lock->state == LOCK_WAITING && state == HF_HELD) {
        granted(serve, lock);
    } else if (lock->state == LOCK_WAITING) {
        not_acquired(serve, lock, why != 0 ? why : HF_ESTATE);
        forget(serve, lock);
    } else if (lock->state == LOCK_HELD) {
        answer_lost(serve, lock, clock_boot_ns() >= serve->deadline);
        move(serve, lock, LOCK_LOST);
    }
}

void lock_on_ask(struct hf_lock *handle, const char *reason, void *data)
{
    struct serve_lock *lock = find_by_handle(data, handle);

    if (lock != NULL && lock->state == LOCK_HELD)
        answer_asked(data, lock, reason);
}

void lock_on_place(struct hf_lock *handle, int64_t ahead, void *data)
{
    struct serve_lock *lock = find_by_handle(data, handle);

    if (lock != NULL && lock->state == LOCK_WAITING && lock->follow && ahead >= 0)
        answer_place(data, lock, ahead);
}

/* ---- Questions ----------------------------------------------------------------------- */

/* The lock that a question is about, or what is wrong with it. */
static int find_for_question(struct serve *serve, const struct request *request,
                             struct question *question, const char **text)
{
    if (request->lock == 0)
        return 0;
    struct serve_lock *lock = lock_find(serve, request->lock);
    *text = lock == NULL ? "there is no such lock" : "the lock is not held";
    if (lock == NULL)
        return HF_ENOTFOUND;
    if (lock->state != LOCK_HELD && lock->state != LOCK_LOST)
        return HF_ESTATE;
    question->lock = lock;
    question->handle = lock->handle;
    return 0;
}

void lock_question(struct serve *serve, const struct request *request)
{
    struct question question = { .request = *request };
    const char     *text = NULL;

    int r = find_for_question(serve, request, &question, &text);
    if (r == 0 && serve->questions.count >= SERVE_MOST) {
        r = HF_EFULL;
        text = "too many questions at once: await some answers first";
    }
    if (r == 0 && (r = questions_ask(&serve->questions, &question)) < 0)
        text = hf_strerror(r);
    if (r < 0)
        answer_failed(serve, request->id, r, text);
    else if (question.lock != NULL)
        question.lock->questions++;
}

/* ---- The end --------------------------------------------------------------------------- */

void lock_give_up_all(struct serve *serve)
{
    for (struct serve_lock *lock = serve->locks; lock != NULL; lock = lock->next) {
        hf_cancel(lock->handle);
        if (hf_state(lock->handle) == HF_HELD)
            hf_release_start(lock->handle);
    }
}

/* One by one, each waiter that leaves would make the library count the places of all that
 * follow theirs: hf_close() frees the handles all at once. */
void lock_forget_all(struct serve *serve)
{
    while (serve->locks != NULL)
        drop(serve, serve->locks);
}
