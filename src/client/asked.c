/* asked.c - see asked.h; hf_ask() itself is in inspect.c. */
#include "client/asked.h"

#include "client/publish.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

static void ring(struct hf_lock *lock)
{
    if (lock->ask_fd >= 0)
        eventfd_write(lock->ask_fd, 1);
}

void hf_asked_show(struct hf_lock *lock)
{
    if (lock->state != HF_HELD || lock->job.asks == lock->asks)
        return;
    lock->asks = lock->job.asks;
    memcpy(lock->asked, lock->job.asked, sizeof lock->asked);
    ring(lock);
    hf_notice_ask(lock, lock->asked);
}

void hf_asked_reset(struct hf_lock *lock)
{
    eventfd_t value;

    lock->asks = 0;
    lock->asked[0] = '\0';
    if (lock->ask_fd >= 0)
        eventfd_read(lock->ask_fd, &value);
}

bool hf_asked(struct hf_lock *lock, char *reason, size_t size)
{
    if (hf_client_check(lock->client) < 0)
        return false;
    int  cancel = hf_drive_begin(&lock->client->drive);
    bool asked = lock->asks > 0;
    if (size > 0)
        snprintf(reason, size, "%s", lock->asked);
    hf_drive_end(&lock->client->drive, cancel);
    return asked;
}

int hf_ask_fd(struct hf_lock *lock)
{
    int r = hf_client_check(lock->client);
    if (r < 0)
        return r;
    int cancel = hf_drive_begin(&lock->client->drive);
    if (lock->ask_fd < 0) {
        lock->ask_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (lock->asks > 0)
            ring(lock);
    }
    r = lock->ask_fd;
    if (r < 0)
        r = hf_client_fail(lock->client, HF_ESTORE,
                           "no descriptor left; raise the limit (ulimit -n)");
    hf_drive_end(&lock->client->drive, cancel);
    return r;
}
