/* live.c - see live.h. */
#include "store/sqlite/live.h"

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

    assert(live->gate < 0);
    int r = hf_sq_files_open(files, files->live, O_RDWR, errmsg, &live->gate);
    if (r < 0)
        return r;
    if (fstat(live->gate, &st) < 0)
        return hf_sq_files_fault(errno, "look at", files->live, errmsg);
    live->device = st.st_dev;
    live->inode = st.st_ino;
    return 0;
}

/* Only what we want to know: newer kernels give a file whose times were asked for an exact
 * time with the next write, and that costs more than the write. */
bool hf_sq_live_is_at(const struct hf_sq_live *live, const char *path)
{
    struct statx stx;
    struct stat  st;

    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO, &stx) == 0)
        return stx.stx_ino == live->inode &&
               makedev(stx.stx_dev_major, stx.stx_dev_minor) == live->device;
    return errno == ENOSYS && lstat(path, &st) == 0 && st.st_ino == live->inode &&
           st.st_dev == live->device;
}

/* For reading alone: commands inherit it, also those that become another user. */
int hf_sq_live_start(struct hf_sq_live *live, const struct hf_sq_files *files,
                     char *errmsg)
{
    struct stat st;

    assert(live->gate >= 0 && live->keep < 0);
    int r = hf_sq_files_open(files, files->live, O_RDONLY, errmsg, &live->keep);
    if (r < 0)
        return r;
    if (fstat(live->keep, &st) == 0 && st.st_ino == live->inode &&
        st.st_dev == live->device)
        return 0;
    close_guarded(&live->keep); /* replaced this very moment */
    snprintf(errmsg, HF_ERRMSG_MAX, "%.160s was replaced", files->live);
    return HF_EDOWN;
}

static void stop_live(struct hf_sq_live *live)
{
    struct flock all = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

    /* A guardian may have a copy: then closing ours would unlock nothing. */
    if (live->keep >= 0)
        fcntl(live->keep, F_OFD_SETLK, &all);
    close_guarded(&live->keep);
}

void hf_sq_live_close(struct hf_sq_live *live)
{
    stop_live(live);
    close_guarded(&live->gate);
    *live = (struct hf_sq_live)HF_SQ_LIVE_INIT;
}

/* ---- The gate --------------------------------------------------------------- */

#define SPINS       16
#define LONGEST_NAP 200000 /* ns */

/* It is shut for some ten microseconds at a time, so first we only step aside,
 * then take short naps.  Waiting in the kernel instead would have no end if the
 * one inside was stopped. */
bool hf_sq_gate_take(struct hf_sq_live *live, hf_time patience)
{
    struct timespec nap = { .tv_nsec = 10000 };
    hf_time         slept = 0;

    assert(!live->taken);
    for (int tries = 0; flock(live->gate, LOCK_EX | LOCK_NB) < 0; tries++) {
        if (tries < SPINS) {
            sched_yield();
            continue;
        }
        if (slept > patience)
            return false;
        nanosleep(&nap, NULL);
        slept += nap.tv_nsec;
        if (nap.tv_nsec < LONGEST_NAP)
            nap.tv_nsec *= 2;
    }
    live->taken = true;
    return true;
}

void hf_sq_gate_give(struct hf_sq_live *live)
{
    assert(live->taken);
    flock(live->gate, LOCK_UN);
    live->taken = false;
}

/* ---- Tickets ---------------------------------------------------------------- */

static bool set_byte(int fd, uint64_t seq, short type)
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

bool hf_sq_live_hold(struct hf_sq_live *live, uint64_t seq)
{
    assert(live->keep >= 0 && hf_sq_live_can(seq));
    assert(live->taken);                       /* locked before anybody can see the row */
    return set_byte(live->keep, seq, F_RDLCK); /* that is enough to be seen */
}

void hf_sq_live_drop(struct hf_sq_live *live, uint64_t seq)
{
    assert(live->keep >= 0 && hf_sq_live_can(seq));
    set_byte(live->keep, seq, F_UNLCK);
}

bool hf_sq_live_can(uint64_t seq)
{
    return seq != 0 && seq < INT64_MAX;
}

bool hf_sq_live_has(const struct hf_sq_live *live, uint64_t seq)
{
    return hf_sq_live_can(seq) && is_locked(live->gate, seq, 1);
}

bool hf_sq_live_has_any(const struct hf_sq_live *live)
{
    return is_locked(live->gate, 1, 0);
}

/* ---- The head --------------------------------------------------------------- */

struct hf_sq_head hf_sq_head_now(const struct hf_sq_files *files)
{
    return (struct hf_sq_head){ .magic = MAGIC,
                                .layout = (uint64_t)hf_sq_layout,
                                .db = hf_sq_files_inode(files->db),
                                .wal = hf_sq_files_inode(files->wal),
                                .shm = hf_sq_files_inode(files->shm),
                                .kept = HF_SQ_KEPT };
}

bool hf_sq_head_read(const struct hf_sq_live *live, struct hf_sq_head *ret)
{
    struct hf_sq_head head;

    assert(live->gate >= 0);
    if (pread(live->gate, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        head.magic != MAGIC || head.layout != (uint64_t)hf_sq_layout)
        return false;
    *ret = head;
    return true;
}

struct hf_sq_head hf_sq_head_start(const struct hf_sq_live *live)
{
    uint64_t start[3];

    assert(live->gate >= 0);
    if (pread(live->gate, start, sizeof start, 0) != (ssize_t)sizeof start ||
        start[0] != MAGIC)
        return (struct hf_sq_head){ 0 };
    return (struct hf_sq_head){ .magic = MAGIC, .layout = start[1], .last = start[2] };
}

bool hf_sq_head_write(const struct hf_sq_live *live, const struct hf_sq_head *head)
{
    assert(live->taken && head->magic == MAGIC);
    return pwrite(live->gate, head, sizeof *head, 0) == (ssize_t)sizeof *head;
}

bool hf_sq_head_same_files(const struct hf_sq_head *a, const struct hf_sq_head *b)
{
    return a->db == b->db && a->wal == b->wal && a->shm == b->shm;
}
