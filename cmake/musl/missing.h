/* missing.h - what Holdfast uses and Debian's musl has not.  The build with musl includes it first in every
 * file.  Later versions of musl define the macros that are asked for here. */
#ifndef HF_MUSL_MISSING_H
#define HF_MUSL_MISSING_H

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef STATX_BASIC_STATS
#include <linux/stat.h>
static inline int statx(int folder, const char *path, int flags, unsigned mask,
                        struct statx *ret)
{
    return (int)syscall(SYS_statx, folder, path, flags, mask, ret);
}
#endif

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
static inline int renameat2(int from, const char *old, int to, const char *new,
                            unsigned flags)
{
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}
#endif

#ifndef CLOSE_RANGE_CLOEXEC
static inline int close_range(unsigned first, unsigned last, int flags)
{
    return (int)syscall(SYS_close_range, first, last, flags);
}
#endif

/* musl's messages are the same in every language. */
static inline const char *strerrordesc_np(int error)
{
    return strerror(error);
}

/* musl returns free memory by itself. */
static inline int malloc_trim(size_t pad)
{
    (void)pad;
    return 0;
}

#endif
