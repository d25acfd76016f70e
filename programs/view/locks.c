/* locks.c - see locks.h. */
#include "locks.h"

#include "changes.h"
#include "place.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define TRIM_FROM 1000 /* locks; the memory of fewer is not worth it */

/* The name is in the same allocation. */
static void free_lock(struct lock *lock)
{
    if (lock == NULL)
        return;
    hf_report_free((struct hf_report *)lock->report);
    free(lock->left_ms);
    free(lock);
}

void locks_finish(struct locks *locks)
{
    for (size_t i = 0; i < locks->count; i++)
        free_lock(locks->lock[i]);
    free(locks->lock);
    *locks = (struct locks){ 0 };
}

/* The index of that name, or where to insert it. */
static size_t search_name(const struct locks *locks, const char *name, bool *found)
{
    size_t low = 0, high = locks->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(locks->lock[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = low < locks->count && strcmp(locks->lock[low]->name, name) == 0;
    return low;
}

const struct lock *locks_find(const struct locks *locks, const char *name)
{
    bool   found;
    size_t at = search_name(locks, name, &found);

    return found ? locks->lock[at] : NULL;
}

static struct lock *add_lock(struct locks *locks, size_t at, const char *name)
{
    size_t size = strlen(name) + 1;

    if (locks->count == locks->room) {
        size_t        room = locks->room > 0 ? 2 * locks->room : 64;
        struct lock **grown = reallocarray(locks->lock, room, sizeof *grown);
        if (grown == NULL)
            return NULL;
        locks->lock = grown;
        locks->room = room;
    }
    struct lock *lock = calloc(1, sizeof *lock + size);
    if (lock == NULL)
        return NULL;
    lock->name = memcpy((char *)(lock + 1), name, size);
    memmove(locks->lock + at + 1, locks->lock + at,
            (locks->count - at) * sizeof *locks->lock);
    locks->lock[at] = lock;
    locks->count++;
    return lock;
}

static void remove_lock(struct locks *locks, size_t at)
{
    free_lock(locks->lock[at]);
    locks->count--;
    memmove(locks->lock + at, locks->lock + at + 1,
            (locks->count - at) * sizeof *locks->lock);
}

static void count_places(struct lock *lock)
{
    const struct hf_report *report = lock->report;

    lock->holders = lock->waiters = 0;
    lock->holder = NULL;
    lock->waits_since = 0;
    for (size_t i = 0; i < report->count; i++) {
        const struct hf_entry *entry = report->entry[i];
        if (entry->held) {
            if (lock->holder == NULL) {
                lock->holder = entry;
                lock->holder_at = i;
            }
            lock->holders += !place_is_nobody(entry);
            continue;
        }
        lock->waiters++;
        if (lock->waits_since == 0 || entry->since < lock->waits_since)
            lock->waits_since = entry->since;
    }
}

/* If there is no memory, lock_left_ms() reads the report instead. */
static void copy_leases(struct lock *lock)
{
    free(lock->left_ms);
    lock->left_ms = calloc(lock->report->count, sizeof *lock->left_ms);
    for (size_t i = 0; lock->left_ms != NULL && i < lock->report->count; i++)
        lock->left_ms[i] = lock->report->entry[i]->left_ms;
}

static void refresh_lock(struct lock *lock, const struct hf_report *all, size_t first,
                         size_t end, int64_t now)
{
    for (size_t i = 0, k = first; i < lock->report->count && k < end; i++) {
        while (k < end && all->entry[k]->token != lock->report->entry[i]->token)
            k++;
        if (k < end)
            lock->left_ms[i] = all->entry[k++]->left_ms;
    }
    lock->seen = now;
}

void locks_refresh_leases(struct locks *locks, const struct hf_report *all, int64_t now)
{
    bool found;

    for (size_t first = 0, end; first < all->count; first = end) {
        const char *name = all->entry[first]->name;
        for (end = first + 1; end < all->count; end++)
            if (strcmp(all->entry[end]->name, name) != 0)
                break;
        size_t at = search_name(locks, name, &found);
        if (found && locks->lock[at]->left_ms != NULL)
            refresh_lock(locks->lock[at], all, first, end, now);
    }
}

int64_t lock_left_ms(const struct lock *lock, size_t place)
{
    assert(place < lock->report->count);
    return lock->left_ms != NULL ? lock->left_ms[place]
                                 : lock->report->entry[place]->left_ms;
}

struct moment {
    struct history *history;
    int64_t         now;
};

static void add_change(const char *what, const struct hf_entry *entry, void *data)
{
    struct moment *moment = data;

    history_add_place(moment->history, what, entry, moment->now, "");
}

bool locks_update(struct locks *locks, const char *name, struct hf_report *report,
                  int64_t now, struct history *history)
{
    struct moment moment = { history, now };
    bool          found;
    size_t        at = search_name(locks, name, &found);
    struct lock  *lock = found ? locks->lock[at] : NULL;

    if (history != NULL)
        changes_tell(lock != NULL ? lock->report : NULL, report, add_change, &moment);
    locks->version++;
    if (lock != NULL) {
        locks->holders -= lock->holders;
        locks->waiters -= lock->waiters;
    }
    if (report->count == 0) {
        hf_report_free(report);
        if (lock != NULL)
            remove_lock(locks, at);
        return true;
    }
    if (lock == NULL && (lock = add_lock(locks, at, name)) == NULL) {
        hf_report_free(report);
        return false;
    }
    hf_report_free((struct hf_report *)lock->report);
    lock->report = report;
    lock->seen = now;
    lock->version = locks->version;
    count_places(lock);
    copy_leases(lock);
    locks->holders += lock->holders;
    locks->waiters += lock->waiters;
    return true;
}

void locks_remove_unseen(struct locks *locks, uint64_t version, int64_t now,
                         struct history *history)
{
    const struct hf_report nobody = { 0 };
    struct moment          moment = { history, now };

    for (size_t i = locks->count; i-- > 0;) {
        struct lock *lock = locks->lock[i];
        if (lock->version > version)
            continue;
        if (history != NULL)
            changes_tell(lock->report, &nobody, add_change, &moment);
        locks->version++;
        locks->holders -= lock->holders;
        locks->waiters -= lock->waiters;
        remove_lock(locks, i);
    }
}

/* free() only returns the end of the heap to the system, and there is always something in use
 * there. */
void locks_trim(struct locks *locks)
{
    if (locks->count > locks->most)
        locks->most = locks->count;
    if (locks->most < TRIM_FROM || locks->count > locks->most / 2)
        return;
    malloc_trim(0);
    locks->most = locks->count;
}

double lock_contention(const struct lock *lock, int64_t now)
{
    int64_t wait = lock->waits_since > 0 ? now - lock->waits_since : 0;

    return wait > 0 ? (double)lock->waiters * (double)wait : 0;
}

/* An argument for by_contention(), which qsort() cannot pass; callers have one thread. */
static int64_t sorting_at;

static int by_contention(const void *a, const void *b)
{
    const struct lock *x = *(const struct lock *const *)a;
    const struct lock *y = *(const struct lock *const *)b;
    double p = lock_contention(x, sorting_at), q = lock_contention(y, sorting_at);

    if (p != q)
        return p > q ? -1 : 1;
    if ((x->waiters > 0) != (y->waiters > 0))
        return x->waiters > 0 ? -1 : 1;
    return strcmp(x->name, y->name);
}

void locks_sort(const struct locks *locks, int64_t now, const struct lock **ret)
{
    for (size_t i = 0; i < locks->count; i++)
        ret[i] = locks->lock[i];
    sorting_at = now;
    if (locks->count > 0)
        qsort(ret, locks->count, sizeof *ret, by_contention);
}
