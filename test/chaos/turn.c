/* turn.c - a worker's turns with the library. */
#include "fence.h"
#include "worker.h"

#include <stdlib.h>

/* ---- Working under the lock ---------------------------------------------------------- */

/* Returns when the time is over, or the lock is lost. */
static bool work(struct hf_lock *lock, const struct kind *kind, int fence)
{
    int64_t    end = turns_now() + (int64_t)pick_us(kind) * 1000;
    uint64_t   token = hf_token(lock);
    struct set set = { .lock = kind->lock, .kind = kind->set, fence, token, NULL };

    if (kind->set != NO_SET && !set_begin(&set, &worker.history))
        return turns_act(&worker.history, lock);
    while (turns_act(&worker.history, lock)) {
        bool over = turns_now() >= end || worker.ending;
        /* Below, time enough to be stopped after the check: see the fence. */
        if (kind->writes && dice(4) == 0) {
            nap(dice(2000));
            write_down_write(&worker.history, fence, token);
        } else if (over && kind->set != NO_SET) {
            nap(dice(20000));
            set_finish(&set, &worker.history);
        }
        if (over)
            return true;
        nap(200 + dice(800));
    }
    free(set.text);
    return false;
}

/* ---- Turns with the library ----------------------------------------------------------- */

/* Written down once for each turn. */
static void write_down_place(void)
{
    long turn = worker.history.turn, before = worker.placed;

    if (before != turn && atomic_compare_exchange_strong(&worker.placed, &before, turn))
        turns_place(&worker.history);
}

void on_place(struct hf_lock *lock, int64_t ahead, void *data)
{
    (void)lock, (void)ahead, (void)data;
    write_down_place();
}

/* As hf_acquire(), but by polling. */
static int acquire_by_start(struct hf_lock *lock, int64_t limit)
{
    int r = hf_acquire_start(lock, limit);

    while (r == 0) {
        enum hf_state state = hf_state(lock);
        if (state == HF_HELD)
            break;
        if (state != HF_WAITING)
            return hf_why(lock) != 0 ? hf_why(lock) : HF_ELOST;
        if (hf_ahead(lock) >= 0)
            write_down_place();
        nap(1000);
    }
    return r;
}

static uint64_t sessions_lost(void)
{
    struct hf_client_stats stats;

    hf_get_client_stats(worker.client, &stats, sizeof stats);
    return stats.lost;
}

static int acquire(struct hf_lock *lock, bool patient)
{
    int64_t limit = patient ? 60000 : dice(300);

    if (dice(2) == 0)
        return acquire_by_start(lock, limit);
    (void)hf_set_follow(lock,
                        dice(2) == 0); /* not while an earlier release is on its way */
    return hf_acquire(lock, limit);
}

void take_turn(void)
{
    int                k = pick_kind();
    const struct kind *kind = &worker_kinds[k];
    struct hf_lock    *lock = worker.lock[k];
    uint64_t           lost = sessions_lost();

    turns_want(&worker.history, kind->lock, kind->weight, kind->capacity);
    /* Some give up soon, or all would wait behind one dead holder. */
    int r = acquire(lock, is_patient(kind) && dice(4) != 0);
    if (r != 0) {
        turns_fail(&worker.history, hf_errname(r));
        if (hf_state(lock) == HF_LOST)
            (void)hf_release(lock);
        nap(20000);
        return;
    }
    turns_granted(&worker.history, lock, sessions_lost() != lost);
    if (!work(lock, kind, worker.fence[k]))
        turns_lost(&worker.history);
    (void)turns_give(&worker.history, lock);
}
