/* fifo.c - PATH-wake/: how a session is told, and how it hears.
 *
 * Every session has a FIFO by the name of its number.  Whoever has news for it
 * puts 8 bytes in; it is the only one to read.  A FIFO gets its name only once
 * it is being read, so one without a reader is what a dead session left.  One
 * without its name is that of a session that was ended by its will.
 */
#include "store/sqlite/inner.h"

#include "base/fork.h"
#include "base/random.h"
#include "holdfast.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBER_MIN 256 /* smaller ones mean other things in epoll */
#define OPEN_FLAGS (O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY)

struct path {
    char text[PATH_MAX];
};

/* `mark` "." while it is not yet read. */
static bool fifo_path(const struct hf_sq *sq, const char *mark, uint64_t sid,
                      struct path *ret)
{
    int n = snprintf(ret->text, sizeof ret->text, "%s/%s%016llx", sq->files.wake, mark,
                     (unsigned long long)sid);

    return n > 0 && (size_t)n < sizeof ret->text;
}

/* ---- Our own ------------------------------------------------------------------ */

static uint64_t new_number(void)
{
    uint64_t sid;

    do {
        sid = hf_random() >> 2;
    } while (sid < NUMBER_MIN);
    return sid;
}

static int open_own(struct hf_sq *sq, const char *path)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = HF_SQ_EVENT_FIFO };

    assert(sq->fifo < 0);
    /* For writing too: so that those who write and go do not end the reading. */
    hf_fork_pause();
    int fd = hf_fork_adopt(hf_sq_files_open_new(path, S_IFIFO, O_RDWR));
    if (fd < 0)
        return hf_sq_files_fault(errno, "open", path, sq->base.errmsg);
    (void)fchmod(fd, hf_sq_files_mode(&sq->files)); /* whatever the umask */
    if (epoll_ctl(sq->base.fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        int r = hf_sq_files_fault(errno, "watch", path, sq->base.errmsg);
        hf_fork_close(fd);
        return r;
    }
    int room = fcntl(fd, F_GETPIPE_SZ);
    sq->fifo = fd;
    sq->fifo_room = room > 0 ? (size_t)room : PIPE_BUF;
    return 0;
}

int hf_sq_fifo_make(struct hf_sq *sq)
{
    uint64_t    sid = new_number();
    struct path early, final;

    assert(sq->sid == 0 && sq->fifo < 0);
    if (!fifo_path(sq, ".", sid, &early) || !fifo_path(sq, "", sid, &final))
        return hf_sq_fail(sq, HF_EINVAL, "%.160s is too long a path", sq->files.db);
    if (mkfifo(early.text, 0600) < 0)
        return hf_sq_files_fault(errno, "make", early.text, sq->base.errmsg);
    int r = open_own(sq, early.text);
    if (r == 0 && rename(early.text, final.text) < 0) {
        r = hf_sq_files_fault(errno, "name", final.text, sq->base.errmsg);
        hf_sq_fifo_close(sq);
    }
    if (r < 0) {
        unlink(early.text);
        return r;
    }
    assert(sq->fifo >= 0);
    sq->sid = sid; /* from here on it has a name, and can be told */
    return 0;
}

void hf_sq_fifo_close(struct hf_sq *sq)
{
    struct path path;

    if (sq->fifo < 0)
        return;
    if (sq->sid != 0 && fifo_path(sq, "", sq->sid, &path))
        unlink(path.text);
    /* By itself it would stay in epoll as long as a guardian has a copy. */
    epoll_ctl(sq->base.fd, EPOLL_CTL_DEL, sq->fifo, NULL);
    hf_fork_close(sq->fifo);
    sq->fifo = -1;
    sq->sid = 0;
}

bool hf_sq_fifo_is_named(const struct hf_sq *sq)
{
    struct path path;
    struct stat st;

    assert(sq->sid != 0 && sq->fifo >= 0);
    return !fifo_path(sq, "", sq->sid, &path) || lstat(path.text, &st) == 0 ||
           (errno != ENOENT && errno != ENOTDIR);
}

void hf_sq_fifo_drain(struct hf_sq *sq)
{
    uint64_t about[512];
    size_t   total = 0;
    ssize_t  n;

    while (sq->fifo >= 0 && (n = read(sq->fifo, about, sizeof about)) > 0) {
        total += (size_t)n;
        for (size_t i = 0; i < (size_t)n / sizeof *about; i++)
            hf_sq_hear(sq, about[i]);
        if ((size_t)n < sizeof about)
            break;
    }
    /* It was nearly full: something may not have gone in. */
    if (total >= sq->fifo_room / 2)
        hf_sq_hear(sq, 0);
}

/* ---- Those of others ---------------------------------------------------------- */

static int open_other(const struct path *path, int access)
{
    struct stat st;

    int fd = open(path->text, access | OPEN_FLAGS);
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

int hf_sq_fifo_open(struct hf_sq *sq, uint64_t sid)
{
    struct path path;

    if (!fifo_path(sq, "", sid, &path))
        return -1;
    int fd = open_other(&path, O_WRONLY);
    if (fd < 0 && errno == ENXIO)
        unlink(path.text);
    return fd;
}

bool hf_sq_fifo_write(int fd, uint64_t about)
{
    assert(about != 0); /* that is for who reads: something was lost */
    ssize_t n = write(fd, &about, sizeof about);

    /* Full is as good: it will find that out, and look at everything. */
    return n == (ssize_t)sizeof about || (n < 0 && errno == EAGAIN);
}

/* First it has no name, then it is told: a word may not go in.  It is opened for reading,
 * too, or a session that dies now would be a SIGPIPE for us. */
int hf_sq_fifo_end(struct hf_sq *sq, uint64_t sid)
{
    struct path path;
    int         r = 0;

    assert(sq->live.taken && sid != sq->sid);
    if (!fifo_path(sq, "", sid, &path))
        return hf_sq_fail(sq, HF_EINVAL, "%.160s is too long a path", sq->files.db);
    hf_fork_pause();
    int fd = hf_fork_adopt(open_other(&path, O_RDWR));
    if (fd < 0)
        return errno == ENOENT
                   ? 0
                   : hf_sq_files_fault(errno, "open", path.text, sq->base.errmsg);
    if (unlink(path.text) == 0 || errno == ENOENT)
        (void)hf_sq_fifo_write(fd, HF_SQ_ENDED);
    else
        r = hf_sq_files_fault(errno, "remove", path.text, sq->base.errmsg);
    hf_fork_close(fd);
    return r;
}

/* ---- Those of the dead --------------------------------------------------------- */

#define TESTS_ALWAYS 32 /* per session that starts */
#define TESTS_MAX    1024
#define UNBORN       60 /* seconds after which nobody will come to read it */

static bool is_stale(int folder, const char *entry)
{
    struct stat st;

    int fd = openat(folder, entry, O_WRONLY | OPEN_FLAGS);
    if (fd >= 0) {
        close(fd);
        return false;
    }
    if (errno != ENXIO)
        return false;
    if (entry[0] != '.')
        return true;
    return fstatat(folder, entry, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           hf_wall_us() / 1000000 - st.st_mtime > UNBORN;
}

/* A few are always tested; of many, those that begin with the same digit as we
 * do, which is a different one every time. */
static bool is_our_share(const struct hf_sq *sq, const char *entry, size_t tested)
{
    char digit = "0123456789abcdef"[sq->sid % 16];

    return tested < TESTS_ALWAYS ||
           (tested < TESTS_MAX && entry[strlen(entry) - 1] == digit);
}

void hf_sq_fifo_count(const struct hf_sq *sq, size_t *all, size_t *stale)
{
    DIR           *dir = opendir(sq->files.wake);
    struct dirent *entry;

    *all = *stale = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        ++*all;
        *stale += *all <= TESTS_MAX && is_stale(dirfd(dir), entry->d_name);
    }
    if (dir != NULL)
        closedir(dir);
}

size_t hf_sq_fifo_clean(struct hf_sq *sq)
{
    DIR           *dir = opendir(sq->files.wake);
    size_t         tested = 0, stale = 0;
    struct dirent *entry;

    if (dir == NULL)
        return 0;
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (!is_our_share(sq, entry->d_name, tested))
            continue;
        tested++;
        if (!is_stale(dirfd(dir), entry->d_name))
            continue;
        unlinkat(dirfd(dir), entry->d_name, 0);
        stale++;
    }
    closedir(dir);
    return stale;
}
