/* file_watch.c - noticing that the files were deleted, moved or replaced.
 *
 * While we hold a lock, inotify reports what happens to the files and to the folders
 * above them.  A client that only waits checks the files from time to time: by default a
 * user may have 128 inotify instances, and more clients than that may wait.  A holder
 * does so, too, if inotify is not available, and for what it does not report, such as a
 * mount on top.
 *
 * Closing an inotify descriptor takes milliseconds, so only a client that holds a lock
 * for a while opens one.  The kernel closes a killed process's files from the highest
 * descriptor down: this one must be below those that keep the places alive, or the next
 * holder waits for it.
 */
#include "store/sqlite/files/files.h"
#include "store/sqlite/files/live.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/line/own.h"
#include "store/sqlite/link.h"
#include "store/sqlite/wake/wake.h"

#include "base/fork.h"

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#define FIRST_CHECK     (20 * HF_MS)
#define WITH_INOTIFY    (5 * HF_SEC)
#define WITHOUT_INOTIFY (500 * HF_MS)

#define OF_FILE   (IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW)
#define OF_FOLDER (IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

static bool watch_files(int fd, const struct hf_sq_files *files)
{
    return inotify_add_watch(fd, files->db, OF_FILE) >= 0 &&
           inotify_add_watch(fd, files->wal, OF_FILE) >= 0 &&
           inotify_add_watch(fd, files->shm, OF_FILE) >= 0 &&
           inotify_add_watch(fd, files->live, OF_FILE) >= 0;
}

/* Those that we can read: others cannot be watched. */
static void watch_folders(int fd, const struct hf_sq_files *files)
{
    char path[HF_SQ_PATH];

    strcpy(path, files->folder);
    while (path[0] == '/' && path[1] != '\0') {
        inotify_add_watch(fd, path, OF_FOLDER);
        *strrchr(path, '/') = '\0';
    }
}

static int move_to_reserved(const struct hf_sq *sq, int fd)
{
    if (sq->reserved_fd < 0 || dup3(fd, sq->reserved_fd, O_CLOEXEC) < 0)
        return fd;
    close(fd);
    return sq->reserved_fd;
}

static void close_inotify(const struct hf_sq *sq, int fd)
{
    if (fd != sq->reserved_fd || dup3(sq->base.fd, fd, O_CLOEXEC) < 0)
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
    fd = move_to_reserved(sq, fd);
    if (!watch_files(fd, &sq->files) ||
        epoll_ctl(sq->base.fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        close_inotify(sq, fd);
        return;
    }
    watch_folders(fd, &sq->files);
    sq->inotify = fd;
}

/* Checks all files, where hf_sq_is_current() checks PATH-live only. */
static bool files_are_there(struct hf_sq *sq)
{
    struct hf_sq_header now = hf_sq_header_now(&sq->files);

    return hf_sq_is_current(sq) && hf_sq_header_same_files(&now, &sq->header);
}

static void check_files(struct hf_sq *sq)
{
    if (hf_sq_is_ended(sq) || !files_are_there(sq))
        hf_sq_lose_session(sq);
}

void hf_sq_file_watch_start(struct hf_sq *sq)
{
    if (sq->file_check == HF_NEVER)
        sq->file_check = sq->now + FIRST_CHECK;
}

static bool holds(const struct hf_sq_own *own)
{
    return own->last.state == HF_STAND_HOLDS;
}

void hf_sq_file_watch_holder(struct hf_sq *sq)
{
    if (sq->inotify < 0 && sq->file_check > sq->now + FIRST_CHECK)
        sq->file_check = sq->now + FIRST_CHECK;
    assert(sq->file_check != HF_NEVER);
}

int hf_sq_file_watch_confirm(struct hf_sq *sq, const struct hf_sq_own *own)
{
    if (holds(own))
        return 0;
    if (!files_are_there(sq))
        return HF_SQ_STALE;
    hf_sq_file_watch_holder(sq);
    return 0;
}

static bool holds_any(const struct hf_sq *sq)
{
    const struct hf_sq_own *own = sq->owns.first;

    while (own != NULL && !holds(own))
        own = own->next;
    return own != NULL;
}

void hf_sq_file_watch_stop(struct hf_sq *sq)
{
    if (sq->inotify >= 0)
        close_inotify(sq, sq->inotify);
    sq->inotify = -1;
    sq->file_check = HF_NEVER;
}

void hf_sq_file_watch_notified(struct hf_sq *sq)
{
    char events[4096];

    assert(sq->inotify >= 0);
    while (read(sq->inotify, events, sizeof events) > 0)
        continue;
    check_files(sq);
}

void hf_sq_file_watch_run(struct hf_sq *sq)
{
    assert(sq->now >= sq->file_check);
    bool hold = holds_any(sq);
    if (!hold)
        hf_sq_file_watch_stop(sq);
    sq->file_check = HF_NEVER;
    if (sq->owns.first == NULL && sq->watches == NULL && !sq->store_watch.on)
        return;
    if (hold && sq->inotify < 0)
        open_inotify(sq);
    sq->file_check = sq->now + (sq->inotify >= 0 ? WITH_INOTIFY : WITHOUT_INOTIFY);
    check_files(sq); /* after the watches are set, so that we miss nothing in between */
}
