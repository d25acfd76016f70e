/* watch_store.c - WATCH_STORE: see history.h.
 *
 * A client that dies writes nothing.  But the kernel closes PATH-live for it, which
 * inotify reports, too.  Then we sweep dead places, and that adds entries to the history.
 *
 * The history may not say what changed: none is kept, too much happened since the last
 * time, the disk is full, or another program wrote.  Then we report that all lines may
 * have changed.
 */
#include "store/sqlite/db/db.h"
#include "store/sqlite/files/files.h"
#include "store/sqlite/history/history.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/line.h"
#include "store/sqlite/link.h"
#include "store/sqlite/wake/wake.h"
#include "store/sqlite/watch.h"

#include "base/fork.h"
#include "base/grow.h"
#include "holdfast.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECK     HF_SEC        /* between two checks, whatever inotify says */
#define ABANDONED (30 * HF_SEC) /* the caller sends no WATCH_STORE any more */
#define ABSENT    (500 * HF_MS) /* between two checks whether there is a store now */
#define SOON      (50 * HF_MS)  /* before the second sweep */
#define TOO_MANY  1024          /* if more lines changed, we do not say which */

/* ---- Listening --------------------------------------------------------------- */

/* Carry out the WATCH_STORE that waits again. */
static void retry_request(struct hf_sq *sq)
{
    struct hf_req *req = sq->store_watch.req;

    if (req == NULL)
        return;
    sq->store_watch.req = NULL;
    hf_requests_append(&sq->waiting, req);
    sq->base.wake = 0;
}

/* Once: epoll reports nothing more before listen_again(), however much is written. */
#define ONCE (EPOLLIN | EPOLLONESHOT)

static void listen_to_files(struct hf_sq *sq)
{
    struct epoll_event event = { .events = ONCE, .data.u64 = HF_SQ_EVENT_WRITTEN };

    hf_low_take();
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    hf_low_give();
    if (fd >= 0 &&
        (inotify_add_watch(fd, sq->files.wal, IN_MODIFY) < 0 ||
         inotify_add_watch(fd, sq->files.live, IN_ATTRIB | IN_CLOSE_NOWRITE) < 0 ||
         epoll_ctl(sq->base.fd, EPOLL_CTL_ADD, fd, &event) < 0)) {
        close(fd);
        fd = -1;
    }
    sq->store_watch.inotify = fd;
}

/* Call it before reading, so that we miss no later change. */
static void listen_again(struct hf_sq *sq)
{
    struct epoll_event   event = { .events = ONCE, .data.u64 = HF_SQ_EVENT_WRITTEN };
    struct inotify_event heard[64]; /* without names */
    ssize_t              n;

    if (sq->store_watch.inotify < 0)
        return;
    while ((n = read(sq->store_watch.inotify, heard, sizeof heard)) > 0) {
        retry_request(sq); /* both: the event comes only once */
        hf_sq_watches_recheck(sq);
        for (size_t i = 0; i < (size_t)n / sizeof *heard; i++) {
            sq->store_watch.unknown |= (heard[i].mask & (IN_ATTRIB | IN_Q_OVERFLOW)) != 0;
            if ((heard[i].mask & IN_CLOSE_NOWRITE) != 0)
                sq->store_watch.sweeps = 2;
        }
    }
    epoll_ctl(sq->base.fd, EPOLL_CTL_MOD, sq->store_watch.inotify, &event);
}

static void stop_listening(struct hf_sq *sq)
{
    if (sq->store_watch.inotify >= 0)
        close(sq->store_watch.inotify);
    sq->store_watch.inotify = -1;
}

void hf_sq_log_listen(struct hf_sq *sq)
{
    if (sq->store_watch.inotify < 0)
        listen_to_files(sq);
    else
        listen_again(sq);
}

void hf_sq_watch_store_touch(const struct hf_sq *sq)
{
    (void)utimensat(AT_FDCWD, sq->files.live, NULL, AT_SYMLINK_NOFOLLOW);
}

void hf_sq_log_written(struct hf_sq *sq)
{
    retry_request(sq);
    if (!hf_sq_watches_recheck(sq) && !sq->store_watch.on)
        stop_listening(sq);
}

/* The kernel reports that the file is closed before it releases the locks: we sweep
 * twice. */
static int sweep_dead(struct hf_sq *sq)
{
    struct hf_sq_watch_store *watch = &sq->store_watch;

    if (watch->sweeps == 0)
        return 0;
    int r = hf_sq_sweep_now(sq, NULL);
    if (r == HF_SQ_STALE || r == HF_SQ_LOCKED)
        return r;
    watch->unknown |= r < 0;
    watch->sweeps--;
    return 0;
}

/* ---- Beginning and end ------------------------------------------------------- */

/* The number of the last entry, and the version of the data. */
static int read_state(struct hf_sq *sq, uint64_t *last, unsigned *data)
{
    int r = hf_sq_db_number(&sq->db, HF_SQ_LATEST, last);

    sqlite3_file_control(sq->db.handle, NULL, SQLITE_FCNTL_DATA_VERSION, data);
    return r;
}

static int start_store_watch(struct hf_sq *sq)
{
    struct hf_sq_watch_store *watch = &sq->store_watch;

    assert(!watch->on);
    if (!hf_sq_is_current(sq))
        return HF_SQ_STALE;
    hf_sq_log_listen(sq);
    watch->on = true;
    watch->unexplained = false;
    watch->sweeps = 1; /* places may be dead already */
    hf_sq_file_watch_start(sq);
    int r = read_state(sq, &watch->last, &watch->data_version);
    watch->unknown = r < 0; /* then the next answer is: all lines */
    return r;
}

static void stop_store_watch(struct hf_sq *sq)
{
    struct hf_sq_watch_store *watch = &sq->store_watch;

    watch->on = watch->absent = false;
    watch->next_check = HF_NEVER;
    stop_listening(sq);
    hf_sq_watches_recheck(sq); /* WATCHes that still wait listen again */
}

void hf_sq_watch_store_end_canceled(struct hf_sq *sq)
{
    struct hf_req *req = sq->store_watch.req;

    if (!sq->store_watch.canceled)
        return;
    sq->store_watch.canceled = false;
    if (req != NULL) {
        assert(req->canceled); /* one at a time */
        sq->store_watch.req = NULL;
        hf_sq_finish(sq, req, HF_ECANCELED);
    }
    stop_store_watch(sq);
}

void hf_sq_watch_store_lost(struct hf_sq *sq)
{
    stop_store_watch(sq);
    retry_request(sq);
}

void hf_sq_watch_store_run(struct hf_sq *sq)
{
    struct hf_sq_watch_store *watch = &sq->store_watch;

    assert(sq->now >= watch->next_check);
    watch->next_check = HF_NEVER;
    if (watch->on && watch->req == NULL)
        stop_store_watch(sq);
    watch->unknown |= watch->unexplained && watch->sweeps == 0;
    if (watch->inotify < 0)
        watch->sweeps = 1;
    retry_request(sq);
}

/* ---- The answer -------------------------------------------------------------- */

/* The lines of all entries since the last answer.  1; or 0 if they are not complete. */
static int read_names(struct hf_sq *sq, size_t *ret)
{
    struct hf_sq_watch_store *watch = &sq->store_watch;
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_CHANGED, NULL, watch->last);
    uint64_t      first = UINT64_MAX;
    bool          blank = false;
    size_t        count = 0;
    int           r;

    hf_sq_forget_texts(sq);
    while (count < TOO_MANY && (r = hf_sq_db_step(&sq->db, query)) == 1) {
        const char **grown =
            hf_grow(watch->answer, &watch->answer_room, count + 1, sizeof *grown);
        if (grown != NULL) {
            watch->answer = grown;
            grown[count] = hf_sq_keep_text(sq, sqlite3_column_text(query, 0));
        }
        if (grown == NULL || grown[count] == NULL) {
            r = hf_sq_fail(sq, HF_ENOMEM, "out of memory");
            break;
        }
        uint64_t number = (uint64_t)sqlite3_column_int64(query, 1);
        first = number < first ? number : first;
        blank |= grown[count++][0] == '\0';
    }
    sqlite3_reset(query);
    *ret = count;
    return r < 0 ? r : count < TOO_MANY && first == watch->last + 1 && !blank;
}

/* 1: something changed, and `req` has the answer. */
static int answer_changes(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_watch_store *watch = &sq->store_watch;
    uint64_t                  last = 0;
    unsigned                  data = 0;
    size_t                    count = 0;

    if (!hf_sq_is_current(sq))
        return HF_SQ_STALE;
    listen_again(sq);
    int r = sweep_dead(sq);
    if (r == 0)
        r = read_state(sq, &last, &data);
    if (r < 0)
        return r;
    watch->unexplained = data != watch->data_version && last == watch->last;
    bool all = watch->unknown || (watch->unexplained && sq->header.kept == 0);
    if (!all && last == watch->last)
        return 0;
    r = all ? 0 : read_names(sq, &count);
    if (r == 1) {
        req->changed = watch->answer;
        req->changes = count;
    }
    watch->unknown = r < 0; /* for the next answer */
    watch->unexplained = false;
    watch->last = last;
    watch->data_version = data;
    return r < 0 ? r : 1;
}

static int begin_store_watch(struct hf_sq *sq)
{
    struct hf_sq_watch_store *watch = &sq->store_watch;
    bool                      absent = watch->absent;

    int r = hf_sq_connect(sq, false);
    if (r == HF_ENOTFOUND && absent) {
        watch->absent = true;
        return 0;
    }
    watch->absent = r == HF_ENOTFOUND; /* we make no file */
    if (r == 0)
        r = start_store_watch(sq);
    return r < 0 && r != HF_ENOTFOUND ? r : 1;
}

bool hf_sq_watch_store(struct hf_sq *sq, struct hf_req *req, int *status)
{
    struct hf_sq_watch_store *watch = &sq->store_watch;

    assert(watch->req == NULL); /* one at a time */
    int r = watch->on ? answer_changes(sq, req) : begin_store_watch(sq);
    *status = r < 0 ? r : 0;
    if (r != 0) {
        watch->next_check = watch->on ? sq->now + ABANDONED : HF_NEVER;
        return false;
    }
    hf_time pause = !watch->on ? ABSENT : watch->sweeps > 0 ? SOON : CHECK;
    if (watch->next_check > sq->now + pause)
        watch->next_check = sq->now + pause;
    watch->req = req;
    return true;
}
