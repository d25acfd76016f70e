/* fence.c - see fence.h. */
#include "fence.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

struct content {
    uint64_t number; /* of writes so far */
    uint64_t token;  /* the highest */
};

int fence_open(const char *folder, const char *lock)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s.fence", folder, lock);
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

/* The kernel's lock goes with a process that is killed, and one pwrite() or rename() leaves
 * nothing half done. */
bool fence_rename(int fd, uint64_t token, uint64_t *ret_number, const char *from,
                  const char *to)
{
    struct content content = { 0 };

    while (flock(fd, LOCK_EX) != 0)
        continue;
    if (pread(fd, &content, sizeof content, 0) < 0)
        content.token = UINT64_MAX;
    bool accepted = token >= content.token && (from == NULL || rename(from, to) == 0);
    if (accepted)
        content.token = token;
    content.number++;
    *ret_number = content.number;
    accepted = pwrite(fd, &content, sizeof content, 0) == sizeof content && accepted;
    flock(fd, LOCK_UN);
    return accepted;
}

bool fence_write(int fd, uint64_t token, uint64_t *ret_number)
{
    return fence_rename(fd, token, ret_number, NULL, NULL);
}
