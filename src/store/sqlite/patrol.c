/* patrol.c - noticing that the files were deleted, moved or replaced.
 *
 * While we hold a lock, inotify reports what happens to the files and to the
 * folders above them.  A client that only waits looks from time to time: a user
 * may have 128 instances of inotify by default, and more clients may wait than
 * that.  So does a holder, where inotify is not available, and for what it does
 * not report, such as a mount on top.
 *
 * It takes milliseconds to close an inotify descriptor, so only a client that
 * holds a lock for a while opens one.  The kernel closes a killed process's files from the
 * highest descriptor down: this one must be below those that keep the tickets
 * alive, or their successor waits for it.
 */
#include "store/sqlite/inner.h"

#include "base/fork.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#define A_WHILE      (20 * HF_MS)
#define WITH_INOTIFY (5 * HF_SEC)
#define WITHOUT      (500 * HF_MS)

#define OF_FILE   (IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW)
#define OF_FOLDER (IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

static bool watch_files(int fd, const struct hf_sq_files *files)
{
    return inotify_add_watch(fd, files->db, OF_FILE) >= 0 &&
           inotify_add_watch(fd, files->wal, OF_FILE) >= 0 &&
           inotify_add_watch(fd, files->shm, OF_FILE) >= 0 &&
           inotify_add_watch(fd, files->live, OF_FILE) >= 0;
}

/* As far as we may: a folder that cannot be read cannot be watched. */
static void watch_folders(int fd, const struct hf_sq_files *files)
{
    char path[HF_SQ_PATH];

    strcpy(path, files->folder);
    while (path[0] == '/' && path[1] != '\0') {
        inotify_add_watch(fd, path, OF_FOLDER);
        *strrchr(path, '/') = '\0';
    }
}

static int move_down(const struct hf_sq *sq, int fd)
{
    if (sq->seat < 0 || dup3(fd, sq->seat, O_CLOEXEC) < 0)
        return fd;
    close(fd);
    return sq->seat;
}

static void close_inotify(const struct hf_sq *sq, int fd)
{
    if (fd != sq->seat || dup3(sq->base.fd, fd, O_CLOEXEC) < 0)
        close(fd);
}

static void open_inotify(struct hf_sq *sq)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = HF_SQ_EVENT_INOTIFY };

    assert(sq->inotify < 0 && sq->db.handle != NULL);
    hf_low_take();
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    hf_low_give();
    if (fd < 0)
        return;
    fd = move_down(sq, fd);
    if (!watch_files(fd, &sq->files) ||
        epoll_ctl(sq->base.fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        close_inotify(sq, fd);
        return;
    }
    watch_folders(fd, &sq->files);
    sq->inotify = fd;
}

/* All of the files, not only those that hf_sq_current() looks at each time. */
static bool files_are_there(struct hf_sq *sq)
{
    struct hf_sq_head now = hf_sq_head_now(&sq->files);

    return hf_sq_current(sq) && hf_sq_head_same_files(&now, &sq->head);
}

static void check_files(struct hf_sq *sq)
{
    if (hf_sq_is_ended(sq) || !files_are_there(sq))
        hf_sq_outdated(sq);
}

void hf_sq_patrol_start(struct hf_sq *sq)
{
    if (sq->patrol == HF_NEVER)
        sq->patrol = sq->now + A_WHILE;
}

static bool holds(const struct hf_sq_own *own)
{
    return own->last.state == HF_STAND_HOLDS;
}

void hf_sq_patrol_holder(struct hf_sq *sq)
{
    if (sq->inotify < 0 && sq->patrol > sq->now + A_WHILE)
        sq->patrol = sq->now + A_WHILE;
    assert(sq->patrol != HF_NEVER); /* as it is while inotify is open */
}

int hf_sq_patrol_confirm(struct hf_sq *sq, const struct hf_sq_own *own)
{
    if (holds(own))
        return 0;
    if (!files_are_there(sq))
        return HF_SQ_STALE;
    hf_sq_patrol_holder(sq);
    return 0;
}

static bool holds_any(const struct hf_sq *sq)
{
    const struct hf_sq_own *own = sq->owns.first;

    while (own != NULL && !holds(own))
        own = own->next;
    return own != NULL;
}

void hf_sq_patrol_stop(struct hf_sq *sq)
{
    if (sq->inotify >= 0)
        close_inotify(sq, sq->inotify);
    sq->inotify = -1;
    sq->patrol = HF_NEVER;
}

void hf_sq_patrol_notified(struct hf_sq *sq)
{
    char events[4096];

    assert(sq->inotify >= 0);
    while (read(sq->inotify, events, sizeof events) > 0)
        continue;
    check_files(sq);
}

void hf_sq_patrol_run(struct hf_sq *sq)
{
    assert(sq->now >= sq->patrol);
    bool hold = holds_any(sq);
    if (!hold)
        hf_sq_patrol_stop(sq);
    sq->patrol = HF_NEVER;
    if (sq->owns.first == NULL && sq->watches == NULL && !sq->survey.on)
        return;
    if (hold && sq->inotify < 0)
        open_inotify(sq);
    sq->patrol = sq->now + (sq->inotify >= 0 ? WITH_INOTIFY : WITHOUT);
    check_files(sq); /* after the watches are set, so that nothing falls between */
}
