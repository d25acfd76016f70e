/* survey.c - SURVEY: see survey.h.
 *
 * Nobody writes anything when a client dies.  But the kernel closes PATH-live for it, which
 * inotify tells, too.  Then we look for tickets of the dead and sweep them, and that is written.
 *
 * The history may not say what changed: none is kept, it was too much since the last time, the
 * disk is full, or another program wrote.  Then all lines may have changed.
 */
#include "store/sqlite/inner.h"

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

#define LOOK     HF_SEC        /* between two looks, whatever inotify says */
#define FORSAKEN (30 * HF_SEC) /* nobody asks any more */
#define ABSENT   (500 * HF_MS) /* the same, whether there is a store now */
#define SOON     (50 * HF_MS) /* the same, whether one who closed PATH-live is dead now */
#define TOO_MANY 1024         /* of more changes it is not told which */

/* ---- Hearing -------------------------------------------------------------------- */

/* The SURVEY that waits is carried out again. */
static void look_again(struct hf_sq *sq)
{
    struct hf_req *req = sq->survey.req;

    if (req == NULL)
        return;
    sq->survey.req = NULL;
    hf_requests_append(&sq->waiting, req);
    sq->base.wake = 0;
}

/* Once: we hear nothing more before listen_again(), however much is written. */
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
    sq->survey.inotify = fd;
}

/* Before we look: what is written from now on is heard. */
static void listen_again(struct hf_sq *sq)
{
    struct epoll_event   event = { .events = ONCE, .data.u64 = HF_SQ_EVENT_WRITTEN };
    struct inotify_event heard[64]; /* they have no names */
    ssize_t              n;

    if (sq->survey.inotify < 0)
        return;
    while ((n = read(sq->survey.inotify, heard, sizeof heard)) > 0) {
        look_again(sq); /* both may have to: it is not heard twice */
        hf_sq_watches_written(sq);
        for (size_t i = 0; i < (size_t)n / sizeof *heard; i++) {
            sq->survey.unknown |= (heard[i].mask & (IN_ATTRIB | IN_Q_OVERFLOW)) != 0;
            if ((heard[i].mask & IN_CLOSE_NOWRITE) != 0)
                sq->survey.looks = 2;
        }
    }
    epoll_ctl(sq->base.fd, EPOLL_CTL_MOD, sq->survey.inotify, &event);
}

static void stop_listening(struct hf_sq *sq)
{
    if (sq->survey.inotify >= 0)
        close(sq->survey.inotify);
    sq->survey.inotify = -1;
}

void hf_sq_listen(struct hf_sq *sq)
{
    if (sq->survey.inotify < 0)
        listen_to_files(sq);
    else
        listen_again(sq);
}

void hf_sq_survey_stir(const struct hf_sq *sq)
{
    (void)utimensat(AT_FDCWD, sq->files.live, NULL, AT_SYMLINK_NOFOLLOW);
}

void hf_sq_written(struct hf_sq *sq)
{
    look_again(sq);
    if (!hf_sq_watches_written(sq) && !sq->survey.on)
        stop_listening(sq);
}

/* The kernel tells that a file is closed, and then lets go of the bytes: we look twice. */
static int bury_dead(struct hf_sq *sq)
{
    struct hf_sq_survey *survey = &sq->survey;

    if (survey->looks == 0)
        return 0;
    int r = hf_sq_sweep_now(sq, NULL);
    if (r == HF_SQ_STALE || r == HF_SQ_SHUT)
        return r;
    survey->unknown |= r < 0;
    survey->looks--;
    return 0;
}

/* ---- Beginning and end ---------------------------------------------------------- */

/* What there is to tell: the last record, and which state the database is in. */
static int read_state(struct hf_sq *sq, uint64_t *last, unsigned *data)
{
    int r = hf_sq_db_number(&sq->db, HF_SQ_LATEST, last);

    sqlite3_file_control(sq->db.handle, NULL, SQLITE_FCNTL_DATA_VERSION, data);
    return r;
}

static int start_survey(struct hf_sq *sq)
{
    struct hf_sq_survey *survey = &sq->survey;

    assert(!survey->on);
    if (!hf_sq_current(sq))
        return HF_SQ_STALE;
    hf_sq_listen(sq);
    survey->on = true;
    survey->stirred = false;
    survey->looks = 1; /* some may be dead already */
    hf_sq_patrol_start(sq);
    int r = read_state(sq, &survey->last, &survey->data);
    survey->unknown = r < 0; /* then the next one begins with all of them */
    return r;
}

static void stop_survey(struct hf_sq *sq)
{
    struct hf_sq_survey *survey = &sq->survey;

    survey->on = survey->absent = false;
    survey->look = HF_NEVER;
    stop_listening(sq);
    hf_sq_watches_written(sq); /* who still wants to hear listens anew */
}

void hf_sq_survey_end_canceled(struct hf_sq *sq)
{
    struct hf_req *req = sq->survey.req;

    if (!sq->survey.canceled)
        return;
    sq->survey.canceled = false;
    if (req != NULL) {
        assert(req->canceled); /* one at a time */
        sq->survey.req = NULL;
        hf_sq_finish(sq, req, HF_ECANCELED);
    }
    stop_survey(sq);
}

void hf_sq_survey_lost(struct hf_sq *sq)
{
    stop_survey(sq);
    look_again(sq);
}

void hf_sq_survey_run(struct hf_sq *sq)
{
    struct hf_sq_survey *survey = &sq->survey;

    assert(sq->now >= survey->look);
    survey->look = HF_NEVER;
    if (survey->on && survey->req == NULL)
        stop_survey(sq);
    survey->unknown |= survey->stirred && survey->looks == 0;
    if (survey->inotify < 0)
        survey->looks = 1;
    look_again(sq);
}

/* ---- The answer ------------------------------------------------------------------- */

/* The lines of the records after those that were told.  1, or 0 if that is not all. */
static int read_names(struct hf_sq *sq, size_t *ret)
{
    struct hf_sq_survey *survey = &sq->survey;
    sqlite3_stmt *query = hf_sq_db_bind(&sq->db, HF_SQ_CHANGED, NULL, survey->last);
    uint64_t      first = UINT64_MAX;
    bool          blank = false;
    size_t        count = 0;
    int           r;

    hf_sq_forget_texts(sq);
    while (count < TOO_MANY && (r = hf_sq_db_step(&sq->db, query)) == 1) {
        const char **grown =
            hf_grow(survey->answer, &survey->answer_room, count + 1, sizeof *grown);
        if (grown != NULL) {
            survey->answer = grown;
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
    return r < 0 ? r : count < TOO_MANY && first == survey->last + 1 && !blank;
}

/* 1 if there is something to tell. */
static int answer_changes(struct hf_sq *sq, struct hf_req *req)
{
    struct hf_sq_survey *survey = &sq->survey;
    uint64_t             last = 0;
    unsigned             data = 0;
    size_t               count = 0;

    if (!hf_sq_current(sq))
        return HF_SQ_STALE;
    listen_again(sq);
    int r = bury_dead(sq);
    if (r == 0)
        r = read_state(sq, &last, &data);
    if (r < 0)
        return r;
    survey->stirred = data != survey->data && last == survey->last;
    bool all = survey->unknown || (survey->stirred && sq->head.kept == 0);
    if (!all && last == survey->last)
        return 0;
    r = all ? 0 : read_names(sq, &count);
    if (r == 1) {
        req->changed = survey->answer;
        req->changes = count;
    }
    survey->unknown = r < 0; /* next time */
    survey->stirred = false;
    survey->last = last;
    survey->data = data;
    return r < 0 ? r : 1;
}

static int begin_survey(struct hf_sq *sq)
{
    struct hf_sq_survey *survey = &sq->survey;
    bool                 absent = survey->absent;

    int r = hf_sq_connect(sq, false);
    if (r == HF_ENOTFOUND && absent) {
        survey->absent = true;
        return 0;
    }
    survey->absent = r == HF_ENOTFOUND; /* nobody was ever here: no file is made */
    if (r == 0)
        r = start_survey(sq);
    return r < 0 && r != HF_ENOTFOUND ? r : 1;
}

bool hf_sq_survey(struct hf_sq *sq, struct hf_req *req, int *status)
{
    struct hf_sq_survey *survey = &sq->survey;

    assert(survey->req == NULL); /* one at a time */
    int r = survey->on ? answer_changes(sq, req) : begin_survey(sq);
    *status = r < 0 ? r : 0;
    if (r != 0) {
        survey->look = survey->on ? sq->now + FORSAKEN : HF_NEVER;
        return false;
    }
    hf_time pause = !survey->on ? ABSENT : survey->looks > 0 ? SOON : LOOK;
    if (survey->look > sq->now + pause)
        survey->look = sq->now + pause;
    survey->req = req;
    return true;
}
