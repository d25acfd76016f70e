/* live.c - PATH-live: see live.h. */
#include "store/sqlite/files/live.h"
#include "store/sqlite/files/files.h"

#include "base/fork.h"
#include "holdfast.h"
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x6576696c646c6f48) /* "Holdlive" */

static void close_guarded(int *fd)
{
    if (*fd < 0)
        return;
    hf_fork_close(*fd);
    *fd = -1;
}

int hf_sq_live_open(struct hf_sq_live *live, const struct hf_sq_files *files,
                    char *errmsg)
{
    struct stat st;

    assert(live->fd < 0);
    int r = hf_sq_files_open(files, files->live, O_RDWR, errmsg, &live->fd);
    if (r < 0)
        return r;
    if (fstat(live->fd, &st) < 0)
        return hf_sq_files_fault(errno, "look at", files->live, errmsg);
    live->device = st.st_dev;
    live->inode = st.st_ino;
    return 0;
}

/* Ask for the inode only: if a file's times were asked for, newer kernels set an exact
 * time with the next write, which costs more than the write itself. */
bool hf_sq_live_is_at(const struct hf_sq_live *live, const char *path)
{
    struct statx stx;
    struct stat  st;

    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO, &stx) == 0)
        return stx.stx_ino == live->inode &&
               makedev(stx.stx_dev_major, stx.stx_dev_minor) == live->device;
    return lstat(path, &st) == 0 && st.st_ino == live->inode &&
           st.st_dev == live->device; /* an old kernel, or a sandbox */
}

/* For reading only: commands inherit it, also commands that run as another user. */
int hf_sq_live_start(struct hf_sq_live *live, const struct hf_sq_files *files,
                     char *errmsg)
{
    struct stat st;

    assert(live->fd >= 0 && live->keep < 0);
    int r = hf_sq_files_open(files, files->live, O_RDONLY, errmsg, &live->keep);
    if (r < 0)
        return r;
    if (fstat(live->keep, &st) == 0 && st.st_ino == live->inode &&
        st.st_dev == live->device)
        return 0;
    close_guarded(&live->keep); /* it was just replaced */
    snprintf(errmsg, HF_ERRMSG_MAX, "%.160s was replaced", files->live);
    return HF_EDOWN;
}

void hf_sq_live_close(struct hf_sq_live *live)
{
    struct flock all = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

    /* A guardian may have a copy, and then closing ours would unlock nothing. */
    if (live->keep >= 0)
        fcntl(live->keep, F_OFD_SETLK, &all);
    close_guarded(&live->keep);
    close_guarded(&live->fd);
    *live = (struct hf_sq_live)HF_SQ_LIVE_INIT;
}

/* ---- The write lock ---------------------------------------------------------- */

#define SPINS       16
#define LONGEST_NAP 1000000 /* ns */

/* Writers keep it for some ten microseconds, so first we only yield, then we sleep for
 * short times.  A blocking flock() would never return if the process that has it was
 * stopped. */
bool hf_sq_write_lock_take(struct hf_sq_live *live, hf_time patience)
{
    struct timespec nap = { .tv_nsec = 10000 };
    hf_time         slept = 0;

    assert(!live->locked);
    for (int tries = 0; flock(live->fd, LOCK_EX | LOCK_NB) < 0; tries++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        if (tries < SPINS) {
            sched_yield();
            continue;
        }
        if (slept > patience) {
            errno = EWOULDBLOCK;
            return false;
        }
        nanosleep(&nap, NULL);
        slept += nap.tv_nsec;
        if (nap.tv_nsec < LONGEST_NAP)
            nap.tv_nsec *= 2;
    }
    live->locked = true;
    return true;
}

void hf_sq_write_lock_release(struct hf_sq_live *live)
{
    assert(live->locked);
    flock(live->fd, LOCK_UN);
    live->locked = false;
}

/* ---- Liveness locks ---------------------------------------------------------- */

static bool set_lock(int fd, uint64_t seq, short type)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)seq, .l_len = 1
    };

    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static bool is_locked(int fd, uint64_t from, off_t length)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)from, .l_len = length
    };

    /* In doubt it is alive: better to wait for nobody than to overtake. */
    return fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

bool hf_sq_live_lock(struct hf_sq_live *live, uint64_t seq)
{
    assert(live->keep >= 0 && hf_sq_seq_is_valid(seq));
    assert(live->locked);                      /* before anybody can see the row */
    return set_lock(live->keep, seq, F_RDLCK); /* a read lock is enough to be seen */
}

void hf_sq_live_unlock(struct hf_sq_live *live, uint64_t seq)
{
    assert(live->keep >= 0 && hf_sq_seq_is_valid(seq));
    set_lock(live->keep, seq, F_UNLCK);
}

bool hf_sq_seq_is_valid(uint64_t seq)
{
    return seq != 0 && seq < INT64_MAX;
}

bool hf_sq_live_is_locked(const struct hf_sq_live *live, uint64_t seq)
{
    return hf_sq_seq_is_valid(seq) && is_locked(live->fd, seq, 1);
}

bool hf_sq_live_any_locked(const struct hf_sq_live *live)
{
    return is_locked(live->fd, 1, 0);
}

/* ---- The header -------------------------------------------------------------- */

struct hf_sq_header hf_sq_header_now(const struct hf_sq_files *files)
{
    return (struct hf_sq_header){ .magic = MAGIC,
                                  .layout = (uint64_t)hf_sq_layout,
                                  .db = hf_sq_files_inode(files->db),
                                  .wal = hf_sq_files_inode(files->wal),
                                  .shm = hf_sq_files_inode(files->shm),
                                  .kept = HF_SQ_KEPT };
}

bool hf_sq_header_read(const struct hf_sq_live *live, struct hf_sq_header *ret)
{
    struct hf_sq_header header;

    assert(live->fd >= 0);
    if (pread(live->fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        header.magic != MAGIC || header.layout != (uint64_t)hf_sq_layout)
        return false;
    *ret = header;
    return true;
}

struct hf_sq_header hf_sq_header_start(const struct hf_sq_live *live)
{
    uint64_t start[3];

    assert(live->fd >= 0);
    if (pread(live->fd, start, sizeof start, 0) != (ssize_t)sizeof start ||
        start[0] != MAGIC)
        return (struct hf_sq_header){ 0 };
    return (struct hf_sq_header){ .magic = MAGIC, .layout = start[1], .last = start[2] };
}

bool hf_sq_header_write(const struct hf_sq_live *live, const struct hf_sq_header *header)
{
    assert(live->locked && header->magic == MAGIC);
    return pwrite(live->fd, header, sizeof *header, 0) == (ssize_t)sizeof *header;
}

bool hf_sq_header_same_files(const struct hf_sq_header *a, const struct hf_sq_header *b)
{
    return a->db == b->db && a->wal == b->wal && a->shm == b->shm;
}
