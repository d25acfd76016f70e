/* turn.c - a worker's turns with the library. */
#include "fence.h"
#include "worker.h"

/* ---- Working under the lock ---------------------------------------------------------- */

/* Is the lock ours?  Says so in the file of last instructions.  The clock is read first: at
 * that time it was, and the deadline is not too late. */
static bool still_ours(struct hf_lock *lock, struct last *last)
{
    int64_t now = history_now();
    int64_t left = hf_left_ms(lock);

    if (left <= 0)
        return false;
    last->deadline = left == INT64_MAX ? HISTORY_NEVER : now + left * 1000000;
    last->when = now;
    return true;
}

/* Returns when the time is over, or the lock is lost. */
static bool work(struct hf_lock *lock, const struct kind *kind, int fence, long turn,
                 unsigned us)
{
    struct last *last = &worker.history.last[turn];
    int64_t      end = history_now() + (int64_t)us * 1000;
    uint64_t     token = hf_token(lock);

    while (still_ours(lock, last)) {
        if (kind->writes && dice(4) == 0) {
            nap(dice(
                2000)); /* time enough to be stopped after the check: see the fence */
            write_down_write(&worker.history, turn, fence, token);
        }
        if (history_now() >= end || worker.ending)
            return true;
        nap(200 + dice(800));
    }
    return false;
}

/* ---- Turns with the library ----------------------------------------------------------- */

/* Written down once for each turn. */
static void write_down_place(long turn)
{
    long before = worker.placed;

    if (before != turn && atomic_compare_exchange_strong(&worker.placed, &before, turn))
        history_add(&worker.history, "place", history_now(), ",\"n\":%ld", turn);
}

void on_place(struct hf_lock *lock, int64_t ahead, void *data)
{
    (void)lock, (void)ahead, (void)data;
    write_down_place(worker.history.turn);
}

/* As hf_acquire(), but by polling. */
static int acquire_by_start(struct hf_lock *lock, int64_t limit, long turn)
{
    int r = hf_acquire_start(lock, limit);

    while (r == 0) {
        enum hf_state state = hf_state(lock);
        if (state == HF_HELD)
            break;
        if (state != HF_WAITING)
            return hf_why(lock) != 0 ? hf_why(lock) : HF_ELOST;
        if (hf_ahead(lock) >= 0)
            write_down_place(turn);
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

static int acquire(struct hf_lock *lock, long turn)
{
    int64_t limit = dice(20) == 0 ? dice(300) : 60000;

    if (dice(2) == 0)
        return acquire_by_start(lock, limit, turn);
    (void)hf_set_follow(lock,
                        dice(2) == 0); /* not while an earlier release is on its way */
    return hf_acquire(lock, limit);
}

static void give_back(struct hf_lock *lock, long turn)
{
    int64_t begun = history_now();
    int     r = hf_release(lock);

    history_add(&worker.history, "release", history_now(),
                ",\"n\":%ld,\"begun\":%lld,\"result\":\"%s\"", turn, (long long)begun,
                r == 0 ? "0" : hf_errname(r));
}

void take_turn(long turn)
{
    unsigned chance = dice(100);
    int      k = 0;

    while (chance >= worker_kinds[k].often)
        chance -= worker_kinds[k++].often;
    struct hf_lock *lock = worker.lock[k];
    uint64_t        lost = sessions_lost();
    worker.history.turn = turn;
    write_down_want(turn, &worker_kinds[k]);
    int r = acquire(lock, turn);
    if (r != 0) {
        history_add(&worker.history, "fail", history_now(),
                    ",\"n\":%ld,\"result\":\"%s\"", turn, hf_errname(r));
        if (hf_state(lock) == HF_LOST)
            (void)hf_release(lock);
        nap(20000);
        return;
    }
    struct last *last = &worker.history.last[turn];
    int64_t      now = history_now();
    uint64_t     token = hf_token(lock);
    last->deadline = now; /* until we know better */
    still_ours(lock, last);
    history_add(&worker.history, "grant", now,
                ",\"n\":%ld,\"token\":%llu,\"deadline\":%s,\"requeued\":%s", turn,
                (unsigned long long)token, history_deadline(last->deadline),
                sessions_lost() != lost ? "true" : "false");
    if (!work(lock, &worker_kinds[k], worker.fence[k], turn, pick_us()))
        history_add(&worker.history, "lost", history_now(), ",\"n\":%ld", turn);
    give_back(lock, turn);
}
