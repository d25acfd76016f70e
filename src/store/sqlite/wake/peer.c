/* peer.c - other sessions: waking them, and noticing that one died.
 *
 * A session reads its FIFO as long as it lives.  We keep that FIFO open for writing, so
 * epoll reports an error when its last reader is gone.  This works across namespaces and
 * costs nothing until it happens.  Writers such as we do not count, so no other session
 * can hide a death.
 *
 * The kernel may release the liveness lock a moment later: then we check again soon.  And
 * as a FIFO may have been deleted, or be read by another program, we check now and then
 * in any case, which takes a microsecond each.
 */
#include "store/sqlite/files/files.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/wake/wake.h"
#include "store/sqlite/watch.h"

#include "base/grow.h"
#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

struct hf_sq_peer {
    uint64_t           sid;
    int                fd;  /* -1: it has no FIFO, or no reader any more */
    hf_time            due; /* the next check; HF_NEVER: no WATCH waits for it */
    unsigned           tries;
    struct hf_sq_peer *next;
};

#define NOW_AND_THEN (2 * HF_SEC)
#define SOON_MAX     HF_SEC
#define OPEN_MAX     64 /* more are only checked now and then */
#define IDLE_MAX     16 /* kept open for the next WATCH */

static struct hf_sq_peer *find_peer(const struct hf_sq *sq, uint64_t sid)
{
    struct hf_sq_peer *peer = sq->peers;

    while (peer != NULL && peer->sid != sid)
        peer = peer->next;
    return peer;
}

static void close_peer(struct hf_sq_peer *peer)
{
    if (peer->fd >= 0)
        close(peer->fd); /* which removes it from epoll, too */
    peer->fd = -1;
}

static size_t count_open(const struct hf_sq *sq)
{
    size_t count = 0;

    for (const struct hf_sq_peer *peer = sq->peers; peer != NULL; peer = peer->next)
        count += peer->fd >= 0;
    return count;
}

/* ---- Noticing a death -------------------------------------------------------- */

static void free_idle(struct hf_sq *sq)
{
    size_t idle = 0;

    for (struct hf_sq_peer **at = &sq->peers; *at != NULL;) {
        struct hf_sq_peer *peer = *at;
        bool               keep = peer->due != HF_NEVER;
        if (!keep && peer->fd >= 0)
            keep = ++idle <= IDLE_MAX;
        if (keep) {
            at = &peer->next;
            continue;
        }
        *at = peer->next;
        close_peer(peer);
        free(peer);
    }
}

static void open_peer(struct hf_sq *sq, struct hf_sq_peer *peer)
{
    struct epoll_event event = { .events = 0, .data.u64 = peer->sid };

    assert(peer->fd < 0 && peer->sid != sq->sid);
    if (count_open(sq) >= OPEN_MAX)
        return;
    peer->fd = hf_sq_fifo_open(sq, peer->sid);
    if (peer->fd >= 0 && epoll_ctl(sq->base.fd, EPOLL_CTL_ADD, peer->fd, &event) < 0)
        close_peer(peer);
}

static void check_later(const struct hf_sq *sq, struct hf_sq_peer *peer)
{
    hf_time soon = HF_MS << (peer->tries < 10 ? peer->tries : 10);

    peer->tries++;
    peer->due = sq->now + (peer->fd >= 0     ? NOW_AND_THEN
                           : soon < SOON_MAX ? soon
                                             : SOON_MAX);
}

int hf_sq_peer_watch(struct hf_sq *sq, uint64_t sid)
{
    if (sid == sq->sid)
        return 0;
    struct hf_sq_peer *peer = find_peer(sq, sid);
    if (peer == NULL) {
        free_idle(sq);
        peer = calloc(1, sizeof *peer);
        if (peer == NULL)
            return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
        *peer = (struct hf_sq_peer){ .sid = sid, .fd = -1, .due = HF_NEVER };
        peer->next = sq->peers;
        sq->peers = peer;
    }
    if (peer->due == HF_NEVER) {
        if (peer->fd < 0)
            open_peer(sq, peer);
        peer->tries = 0;
        check_later(sq, peer);
    }
    return 0;
}

static void check_peer(struct hf_sq *sq, struct hf_sq_peer *peer)
{
    if (hf_sq_watches_check(sq, peer->sid))
        check_later(sq, peer);
    else
        peer->due = HF_NEVER;
}

void hf_sq_peer_gone(struct hf_sq *sq, uint64_t sid)
{
    struct hf_sq_peer *peer = find_peer(sq, sid);

    if (peer == NULL)
        return;
    close_peer(peer);
    peer->tries = 0;
    check_peer(sq, peer);
}

void hf_sq_peers_check(struct hf_sq *sq)
{
    for (struct hf_sq_peer *peer = sq->peers; peer != NULL; peer = peer->next)
        if (peer->due <= sq->now)
            check_peer(sq, peer);
}

hf_time hf_sq_peers_next_check(const struct hf_sq *sq)
{
    hf_time wake = HF_NEVER;

    for (const struct hf_sq_peer *peer = sq->peers; peer != NULL; peer = peer->next)
        if (peer->due < wake)
            wake = peer->due;
    return wake;
}

void hf_sq_peers_close(struct hf_sq *sq)
{
    while (sq->peers != NULL) {
        struct hf_sq_peer *peer = sq->peers;
        sq->peers = peer->next;
        close_peer(peer);
        free(peer);
    }
}

/* ---- Waking them ------------------------------------------------------------- */

int hf_sq_wake_add(struct hf_sq *sq, uint64_t sid, uint64_t seq)
{
    if (seq == 0) /* no place has it, and readers would read all places */
        return 0;
    for (size_t i = 0; i < sq->wakeup_count; i++)
        if (sq->wakeups[i].sid == sid && sq->wakeups[i].seq == seq)
            return 0;
    struct hf_sq_wakeup *grown =
        hf_grow(sq->wakeups, &sq->wakeup_room, sq->wakeup_count + 1, sizeof *grown);
    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    sq->wakeups = grown;
    sq->wakeups[sq->wakeup_count++] = (struct hf_sq_wakeup){ sid, seq };
    return 0;
}

static void send_wakeup(struct hf_sq *sq, const struct hf_sq_wakeup *wakeup)
{
    struct hf_sq_peer *peer = find_peer(sq, wakeup->sid);
    bool               open = peer != NULL && peer->fd >= 0;

    assert(wakeup->sid != sq->sid && wakeup->seq != 0);
    int fd = open ? peer->fd : hf_sq_fifo_open(sq, wakeup->sid);
    if (fd < 0)
        return;
    hf_sq_fifo_write(fd, wakeup->seq);
    if (!open)
        close(fd);
}

/* A reader may die after we opened its FIFO. */
static void send_wakeups(struct hf_sq *sq)
{
    struct hf_sq_blocked_signal blocked;

    hf_sq_block_sigpipe(&blocked);
    for (size_t i = 0; i < sq->wakeup_count; i++)
        if (sq->wakeups[i].sid != sq->sid)
            send_wakeup(sq, &sq->wakeups[i]);
    hf_sq_unblock_signal(&blocked);
}

void hf_sq_wake_send(struct hf_sq *sq)
{
    bool others = false;

    for (size_t i = 0; i < sq->wakeup_count; i++) {
        if (sq->wakeups[i].sid == sq->sid)
            hf_sq_woken(sq, sq->wakeups[i].seq);
        else
            others = true;
    }
    if (others)
        send_wakeups(sq);
    sq->wakeup_count = 0;
}
