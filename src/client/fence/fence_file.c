/* fence_file.c - hf_fence_file(): no holder with an older token gets in; see fence.h. */
#include "client/fence/fence.h"

#include "base/fork.h"
#include "holdfast.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A process that has just created the lock file is about to set its mode. */
#define UNFINISHED (200 * HF_MS)

#define SHORTEST HF_MS
#define LONGEST  (20 * HF_MS)

static void nap(hf_time time)
{
    struct timespec span = { .tv_sec = (time_t)(time / HF_SEC),
                             .tv_nsec = (long)(time % HF_SEC) };

    nanosleep(&span, NULL);
}

/* Returns a descriptor, or a code. */
static int open_lock(const struct hf_fence *fence)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    hf_time   patience = hf_now() + UNFINISHED;

    for (;;) {
        int fd = openat(fence->folder, fence->lock, flags);
        if (fd < 0 && errno == ENOENT)
            fd = openat(fence->folder, fence->lock, flags | O_CREAT | O_EXCL, 0600);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST && (errno != EACCES || hf_now() >= patience))
            return hf_fence_fault(fence, errno, "open", fence->lock);
        if (errno == EACCES)
            nap(SHORTEST);
    }
}

/* flock(2) has no time limit of its own. */
static int take_lock(const struct hf_fence *fence, int fd)
{
    for (hf_time pause = SHORTEST;; pause = hf_sooner(2 * pause, LONGEST)) {
        bool wait = fence->deadline == HF_NEVER;
        if (flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return hf_fence_fault(fence, errno, "lock", fence->lock);
        hf_time now = hf_now();
        if (now >= fence->deadline)
            return hf_fence_refuse(fence, fence->once ? HF_EBUSY : HF_ETIMEOUT,
                                   "is fenced by another process, which has not "
                                   "finished yet");
        nap(hf_sooner(pause, fence->deadline - now));
    }
}

/* Somebody may have removed the lock file while we waited. */
static bool is_in_place(const struct hf_fence *fence, int fd)
{
    struct stat ours, there;

    return fstat(fd, &ours) == 0 &&
           fstatat(fence->folder, fence->lock, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* Returns a descriptor that has the flock, or a code. */
static int close_gate(const struct hf_fence *fence)
{
    for (;;) {
        int fd = open_lock(fence);
        if (fd < 0)
            return fd;
        hf_fence_dress(fence, fd);
        int r = take_lock(fence, fd);
        if (r == 0 && is_in_place(fence, fd))
            return fd;
        close(fd);
        if (r < 0)
            return r;
    }
}

/* With the flock held: compare, and raise. */
static int claim(const struct hf_fence *fence, uint64_t token)
{
    uint64_t highest;

    int r = hf_fence_read(fence, &highest);
    if (r < 0)
        return r;
    if (token < highest) {
        snprintf(fence->errmsg, HF_FENCE_MESSAGE,
                 "token %" PRIu64 " is stale: %.160s was claimed with token %" PRIu64
                 " since",
                 token, fence->path, highest);
        return HF_ELOST;
    }
    return token > highest ? hf_fence_write(fence, token) : 0;
}

static int fence_file(const char *path, uint64_t token, int64_t timeout_ms, char *errmsg)
{
    hf_time         start = hf_now();
    struct hf_fence fence;

    int r = hf_fence_init(&fence, path, errmsg);
    if (r < 0)
        return r;
    fence.once = timeout_ms == 0;
    fence.deadline = hf_after_ms(start, timeout_ms);
    int fd = close_gate(&fence);
    r = fd < 0 ? fd : claim(&fence, token);
    hf_fence_finish(&fence);
    if (r < 0 && fd >= 0)
        close(fd);
    return r < 0 ? r : fd;
}

int hf_fence_file(const char *path, uint64_t token, int64_t timeout_ms, char *error,
                  size_t error_size)
{
    char errmsg[HF_FENCE_MESSAGE] = "a path is needed, and a token above 0";
    int  cancel, r = HF_EINVAL;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    hf_low_take();
    if (path != NULL && token > 0)
        r = fence_file(path, token, timeout_ms, errmsg);
    hf_low_give();
    pthread_setcancelstate(cancel, &cancel);
    if (r < 0 && error != NULL && error_size > 0)
        snprintf(error, error_size, "%s", errmsg);
    return r;
}
