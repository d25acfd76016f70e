/* fence.h - the files beside a fenced PATH, for hf_fence_file().
 *
 *     PATH.fence.lock   empty; its flock is the fence, and is held while a caller writes
 *     PATH.fence        one line: the highest token so far, in decimal digits
 *     PATH.fence.new    the next PATH.fence; the process with the flock may replace it
 *
 * PATH.fence is only read and replaced under the flock.  The new one is fsynced before
 * it is renamed, and the folder after that: a process may be killed, or the machine
 * fail, at any moment, and PATH.fence has the old token or the new one.  The lock is a
 * file of its own because a file that is replaced is a bad place for a lock: a client
 * that waits would be granted the lock of a file that is gone.
 */
#ifndef HF_FENCE_H
#define HF_FENCE_H

#include "base/clock.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Room for a message with two long names. */
#define HF_FENCE_MESSAGE 512

struct hf_fence {
    const char *path;               /* as the caller wrote it, for messages; lent */
    char       *errmsg;             /* HF_FENCE_MESSAGE; lent */
    hf_time     deadline;           /* for the flock */
    bool        once;               /* do not wait at all */
    int         folder;             /* of PATH; ours */
    mode_t      mode;               /* of the files beside it */
    gid_t       group;              /* (gid_t)-1: whatever it becomes */
    char        name[NAME_MAX + 1]; /* the last part of PATH, and the files beside it */
    char        lock[NAME_MAX + 1];
    char        mark[NAME_MAX + 1];
    char        fresh[NAME_MAX + 1];
};

/* Open the folder of `path` and look at `path` itself: may it be fenced?  0, or a code
 * and a message. */
int  hf_fence_init(struct hf_fence *fence, const char *path, char *errmsg);
void hf_fence_finish(struct hf_fence *fence);

/* Give a file of the fence the right mode and group, as far as we may. */
void hf_fence_dress(const struct hf_fence *fence, int fd);

/* Read the highest token; 0: there is none yet. */
int hf_fence_read(const struct hf_fence *fence, uint64_t *ret);

/* Replace it. */
int hf_fence_write(const struct hf_fence *fence, uint64_t token);

/* The code and the message for an errno: "cannot WHAT NAME: ...". */
int hf_fence_fault(const struct hf_fence *fence, int error, const char *what,
                   const char *name);

/* The same with a reason in our own words: "PATH WHY". */
int hf_fence_refuse(const struct hf_fence *fence, int code, const char *why);

#endif
