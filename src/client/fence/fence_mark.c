/* fence_mark.c - PATH.fence: reading and replacing the highest token. */
#include "client/fence/fence.h"

#include "holdfast.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX 24 /* 20 digits, a newline, and room to notice more */

/* Exactly what hf_fence_write() writes.  A text that was cut has no newline. */
static bool parse(const char *text, size_t size, uint64_t *ret)
{
    uint64_t value = 0;

    if (size < 2 || text[size - 1] != '\n' || text[0] == '0')
        return false;
    for (size_t i = 0; i < size - 1; i++) {
        unsigned digit = (unsigned char)text[i] - (unsigned)'0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *ret = value;
    return true;
}

/* -1 with errno; else how many bytes there are, up to `size`. */
static ssize_t read_all(int fd, char *text, size_t size)
{
    size_t length = 0;

    while (length < size) {
        ssize_t n = read(fd, text + length, size - length);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -1;
        length += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)length;
}

static int damaged(const struct hf_fence *fence)
{
    snprintf(fence->errmsg, HF_FENCE_MESSAGE,
             "%.100s, beside %.140s, is damaged: it should have one line, the highest "
             "token so far.  Nothing was changed; write a token into it, or remove it "
             "while nobody has the lock",
             fence->mark, fence->path);
    return HF_ECORRUPT;
}

int hf_fence_read(const struct hf_fence *fence, uint64_t *ret)
{
    char        text[TEXT_MAX];
    struct stat st;

    int fd = openat(fence->folder, fence->mark,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        *ret = 0;
        return 0;
    }
    if (fd < 0)
        return hf_fence_fault(fence, errno, "open", fence->mark);
    bool    is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t size = is_file ? read_all(fd, text, sizeof text) : 0;
    int     error = errno;
    close(fd);
    if (size < 0)
        return hf_fence_fault(fence, error, "read", fence->mark);
    return parse(text, (size_t)size, ret) ? 0 : damaged(fence);
}

/* A write past this limit would raise SIGXFSZ. */
static bool is_limited(size_t size)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size;
}

/* -1 with errno. */
static int write_all(int fd, const char *text, size_t size)
{
    if (is_limited(size)) {
        errno = EFBIG;
        return -1;
    }
    while (size > 0) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno != EINTR)
            return -1;
        text += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return fsync(fd);
}

/* A leftover of a process that was killed may belong to another user: remove it, and
 * write to none but our own file. */
static int make_fresh(const struct hf_fence *fence)
{
    if (unlinkat(fence->folder, fence->fresh, 0) < 0 && errno != ENOENT)
        return -1;
    return openat(fence->folder, fence->fresh,
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int hf_fence_write(const struct hf_fence *fence, uint64_t token)
{
    char text[TEXT_MAX];
    int  size = snprintf(text, sizeof text, "%" PRIu64 "\n", token);

    int fd = make_fresh(fence);
    if (fd < 0)
        return hf_fence_fault(fence, errno, "create", fence->fresh);
    hf_fence_dress(fence, fd);
    int error = write_all(fd, text, (size_t)size) < 0 ? errno : 0;
    if (close(fd) < 0 && error == 0)
        error = errno;
    if (error == 0 &&
        renameat(fence->folder, fence->fresh, fence->folder, fence->mark) < 0)
        error = errno;
    if (error != 0) {
        unlinkat(fence->folder, fence->fresh, 0);
        return hf_fence_fault(fence, error, "write", fence->mark);
    }
    if (fsync(fence->folder) < 0)
        return hf_fence_fault(fence, errno, "fsync the folder of", fence->mark);
    return 0;
}
