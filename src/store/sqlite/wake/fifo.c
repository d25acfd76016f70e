/* fifo.c - PATH-wake/: the FIFO of each session.
 *
 * A FIFO is named by the number of its session, which alone reads it.  Another session
 * wakes it by writing 8 bytes: the seq of a place.  A FIFO gets its name only once it is
 * being read, so one without a reader is stale: its session is dead.  A session whose
 * FIFO has lost its name was ended by its session key.
 *
 * The folder may be shared with other users, who can replace it by a link at any time.
 * So we open and check it each time, and reach its files from that descriptor, never by a
 * path, which could lead to somebody else's files.
 */
#include "store/sqlite/files/files.h"
#include "store/sqlite/inner.h"
#include "store/sqlite/wake/wake.h"
#include "store/sqlite/watch.h"

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

#define NUMBER_MIN 256 /* smaller ones are enum hf_sq_event */
#define OPEN_FLAGS (O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY)

/* Its name in the folder: `mark` is "." before it is read. */
struct name {
    char text[24];
};

static struct name fifo_name(const char *mark, uint64_t sid)
{
    struct name name;

    snprintf(name.text, sizeof name.text, "%s%016llx", mark, (unsigned long long)sid);
    return name;
}

static int fail_errno(struct hf_sq *sq, const char *what)
{
    return hf_sq_files_fault(errno, what, sq->files.wake, sq->base.errmsg);
}

/* Until close_wake(), descriptors 0 to 2 are taken (base/fork.h). */
static int open_wake(const struct hf_sq *sq)
{
    hf_low_take();
    int folder = hf_sq_files_open_wake(&sq->files);
    if (folder < 0)
        hf_low_give();
    return folder;
}

static void close_wake(int folder)
{
    int error = errno;

    if (folder < 0)
        return;
    close(folder);
    errno = error;
    hf_low_give();
}

/* ---- Our own ----------------------------------------------------------------- */

static uint64_t new_number(void)
{
    uint64_t sid;

    do {
        sid = hf_random() >> 2;
    } while (sid < NUMBER_MIN);
    return sid;
}

static int open_own(struct hf_sq *sq, int folder, const struct name *name)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = HF_SQ_EVENT_FIFO };

    assert(sq->fifo < 0);
    /* For writing, too: so that we read no end of file when other writers close it. */
    hf_fork_pause();
    int fd = hf_fork_adopt(hf_sq_files_open_new(folder, name->text, S_IFIFO, O_RDWR));
    if (fd < 0)
        return fail_errno(sq, "open a FIFO in");
    (void)fchmod(fd, hf_sq_files_mode(&sq->files)); /* whatever the umask */
    if (epoll_ctl(sq->base.fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        int r = fail_errno(sq, "watch a FIFO in");
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
    struct name early = fifo_name(".", sid), final = fifo_name("", sid);

    assert(sq->sid == 0 && sq->fifo < 0);
    int folder = open_wake(sq);
    if (folder < 0 || mkfifoat(folder, early.text, 0600) < 0) {
        close_wake(folder);
        return fail_errno(sq, "make a FIFO in");
    }
    int r = open_own(sq, folder, &early);
    if (r == 0 && renameat(folder, early.text, folder, final.text) < 0) {
        r = fail_errno(sq, "name a FIFO in");
        hf_sq_fifo_close(sq);
    }
    if (r < 0)
        unlinkat(folder, early.text, 0);
    close_wake(folder);
    if (r < 0)
        return r;
    assert(sq->fifo >= 0);
    sq->sid = sid; /* from here on it has a name, and can be woken */
    return 0;
}

void hf_sq_fifo_close(struct hf_sq *sq)
{
    struct name name = fifo_name("", sq->sid);

    if (sq->fifo < 0)
        return;
    int folder = open_wake(sq);
    if (folder >= 0)
        unlinkat(folder, name.text, 0); /* if it has one already */
    close_wake(folder);
    /* By itself it would stay in epoll as long as a guardian has a copy. */
    epoll_ctl(sq->base.fd, EPOLL_CTL_DEL, sq->fifo, NULL);
    hf_fork_close(sq->fifo);
    sq->fifo = -1;
    sq->sid = 0;
}

bool hf_sq_fifo_is_named(const struct hf_sq *sq)
{
    struct name name = fifo_name("", sq->sid);
    struct stat st;

    assert(sq->sid != 0 && sq->fifo >= 0);
    int  folder = open_wake(sq);
    bool seen = folder >= 0 && fstatat(folder, name.text, &st, AT_SYMLINK_NOFOLLOW) == 0;
    close_wake(folder);
    return seen || (errno != ENOENT && errno != ENOTDIR);
}

void hf_sq_fifo_drain(struct hf_sq *sq)
{
    uint64_t seq[512];
    size_t   total = 0;
    ssize_t  n;

    while (sq->fifo >= 0 && (n = read(sq->fifo, seq, sizeof seq)) > 0) {
        total += (size_t)n;
        for (size_t i = 0; i < (size_t)n / sizeof *seq; i++)
            hf_sq_woken(sq, seq[i]);
        if ((size_t)n < sizeof seq)
            break;
    }
    /* It may have been full, and a wake-up lost. */
    if (total >= sq->fifo_room / 2)
        hf_sq_woken(sq, 0);
}

/* ---- FIFOs of others --------------------------------------------------------- */

static int open_other(int folder, const struct name *name, int access)
{
    struct stat st;

    int fd = openat(folder, name->text, access | OPEN_FLAGS);
    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

int hf_sq_fifo_open(struct hf_sq *sq, uint64_t sid)
{
    struct name name = fifo_name("", sid);
    int         folder = open_wake(sq);

    if (folder < 0)
        return -1;
    int fd = open_other(folder, &name, O_WRONLY);
    if (fd < 0 && errno == ENXIO)
        unlinkat(folder, name.text, 0);
    close_wake(folder);
    return fd;
}

bool hf_sq_fifo_is_read(struct hf_sq *sq, uint64_t sid)
{
    int fd = hf_sq_fifo_open(sq, sid);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* If it is full, the session notices that, and reads all its places. */
void hf_sq_fifo_write(int fd, uint64_t seq)
{
    assert(seq != 0); /* readers use 0 for a lost wake-up */
    (void)!write(fd, &seq, sizeof seq);
}

/* Remove its name first: the wake-up may get lost.  We open it for reading, too:
 * otherwise we would get SIGPIPE if the session dies now. */
int hf_sq_fifo_end(struct hf_sq *sq, uint64_t sid)
{
    struct name name = fifo_name("", sid);
    int         r = 0;

    assert(sq->live.locked && sid != sq->sid);
    int folder = open_wake(sq);
    hf_fork_pause();
    int fd = hf_fork_adopt(folder >= 0 ? open_other(folder, &name, O_RDWR) : -1);
    if (fd < 0)
        r = errno == ENOENT ? 0 : fail_errno(sq, "open a FIFO in");
    else if (unlinkat(folder, name.text, 0) == 0 || errno == ENOENT)
        hf_sq_fifo_write(fd, HF_SQ_ENDED);
    else
        r = fail_errno(sq, "remove a FIFO of");
    if (fd >= 0)
        hf_fork_close(fd);
    close_wake(folder);
    return r;
}

/* ---- Stale FIFOs ------------------------------------------------------------- */

#define TESTS_ALWAYS 32 /* per session that starts */
#define TESTS_MAX    1024
#define UNNAMED_MAX  60 /* seconds that a starting session needs at most to name it */

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
           hf_wall_us() / 1000000 - st.st_mtime > UNNAMED_MAX;
}

/* Every session tests a few.  Of many, it tests those that end with the same digit as
 * its own number, which is random. */
static bool is_our_share(const struct hf_sq *sq, const char *entry, size_t tested)
{
    char digit = "0123456789abcdef"[sq->sid % 16];

    return tested < TESTS_ALWAYS ||
           (tested < TESTS_MAX && entry[strlen(entry) - 1] == digit);
}

size_t hf_sq_fifo_clean(struct hf_sq *sq, bool only_count, size_t *all)
{
    int            folder = open_wake(sq);
    DIR           *dir = folder >= 0 ? fdopendir(folder) : NULL;
    size_t         tested = 0, stale = 0;
    struct dirent *entry;

    *all = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        ++*all;
        if (only_count ? tested >= TESTS_MAX : !is_our_share(sq, name, tested))
            continue;
        tested++;
        if (!is_stale(folder, name))
            continue;
        if (!only_count)
            unlinkat(folder, name, 0);
        stale++;
    }
    if (dir != NULL)
        closedir(dir);
    else if (folder >= 0)
        close(folder);
    if (folder >= 0)
        hf_low_give();
    return stale;
}
