/* peer.c - the sessions we wait for: telling them, and noticing their death.
 *
 * A session reads from its FIFO as long as it lives.  We hold it open for
 * writing, so when its last reader is gone epoll reports an error on our end:
 * that works across namespaces and costs nothing until it happens.  Those who
 * only write to it, like us, do not count, so nobody else can hide a death.
 *
 * The kernel may let go of the ticket's byte a moment later: then we look again
 * soon.  And as a FIFO may have been deleted, or be read by a stranger, we look
 * now and then in any case, at a microsecond each.
 */
#include "store/sqlite/inner.h"
#include "store/sqlite/ulimit.h"

#include "base/grow.h"
#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

struct hf_sq_peer {
    uint64_t           sid;
    int                fd;  /* -1: it has no FIFO, or no reader any more */
    hf_time            due; /* HF_NEVER: nothing waits for it */
    unsigned           tries;
    struct hf_sq_peer *next;
};

#define NOW_AND_THEN (2 * HF_SEC)
#define SOON_MAX     HF_SEC
#define OPEN_MAX     64 /* more are only looked at now and then */
#define IDLE_MAX     16 /* kept open for the next time */

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
        close(peer->fd); /* which takes it out of epoll too */
    peer->fd = -1;
}

static size_t count_open(const struct hf_sq *sq)
{
    size_t count = 0;

    for (const struct hf_sq_peer *peer = sq->peers; peer != NULL; peer = peer->next)
        count += peer->fd >= 0;
    return count;
}

/* ---- Their death -------------------------------------------------------------- */

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

int hf_sq_peer_need(struct hf_sq *sq, uint64_t sid)
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

hf_time hf_sq_peers_wake(const struct hf_sq *sq)
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

/* ---- Telling them ------------------------------------------------------------- */

int hf_sq_tell(struct hf_sq *sq, uint64_t sid, uint64_t about)
{
    if (about == 0) /* that would mean everything; no ticket has it */
        return 0;
    for (size_t i = 0; i < sq->news_count; i++)
        if (sq->news[i].sid == sid && sq->news[i].about == about)
            return 0;
    struct hf_sq_news *grown =
        hf_grow(sq->news, &sq->news_room, sq->news_count + 1, sizeof *grown);
    if (grown == NULL)
        return hf_sq_fail(sq, HF_ENOMEM, "out of memory");
    sq->news = grown;
    sq->news[sq->news_count++] = (struct hf_sq_news){ sid, about };
    return 0;
}

static void send_news(struct hf_sq *sq, const struct hf_sq_news *news)
{
    struct hf_sq_peer *peer = find_peer(sq, news->sid);
    bool               open = peer != NULL && peer->fd >= 0;

    assert(news->sid != sq->sid && news->about != 0);
    int fd = open ? peer->fd : hf_sq_fifo_open(sq, news->sid);
    if (fd < 0)
        return;
    hf_sq_fifo_write(fd, news->about);
    if (!open)
        close(fd);
}

/* A reader may die between our opening and our writing. */
static void send_all_news(struct hf_sq *sq)
{
    struct hf_sq_mute pipe;

    hf_sq_mute_pipe(&pipe);
    for (size_t i = 0; i < sq->news_count; i++)
        if (sq->news[i].sid != sq->sid)
            send_news(sq, &sq->news[i]);
    hf_sq_unmute(&pipe);
}

void hf_sq_tell_all(struct hf_sq *sq)
{
    bool others = false;

    for (size_t i = 0; i < sq->news_count; i++) {
        if (sq->news[i].sid == sq->sid)
            hf_sq_hear(sq, sq->news[i].about);
        else
            others = true;
    }
    if (others)
        send_all_news(sq);
    sq->news_count = 0;
}
