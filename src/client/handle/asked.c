/* asked.c - being asked to give a lock up; hf_ask(), the other side, is in inspect.c. */
#include "base/fork.h"
#include "client/handle/lock.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void hf_asked_init(struct hf_asked *asked)
{
    asked->fd = -1;
}

void hf_asked_finish(struct hf_asked *asked)
{
    if (asked->fd >= 0)
        close(asked->fd);
}

static void make_readable(const struct hf_asked *asked)
{
    if (asked->fd >= 0)
        eventfd_write(asked->fd, 1);
}

void hf_asked_publish(struct hf_lock *lock)
{
    struct hf_asked *asked = &lock->asked;

    if (hf_state(lock) != HF_HELD || lock->job.asks == asked->count)
        return;
    assert(lock->job.asks > asked->count); /* each acquire counts from zero */
    asked->count = lock->job.asks;
    memcpy(asked->reason, lock->job.ask, sizeof asked->reason);
    make_readable(asked);
    hf_callback_ask(lock, asked->reason);
}

void hf_asked_reset(struct hf_lock *lock)
{
    struct hf_asked *asked = &lock->asked;
    eventfd_t        value;

    assert(hf_state(lock) != HF_HELD);
    asked->count = 0;
    asked->reason[0] = '\0';
    if (asked->fd >= 0)
        eventfd_read(asked->fd, &value);
}

bool hf_asked(struct hf_lock *lock, char *reason, size_t size)
{
    int cancel;

    if (hf_client_begin(hf_lock_client(lock), &cancel) < 0)
        return false;
    bool asked = lock->asked.count > 0;
    if (reason != NULL && size > 0)
        snprintf(reason, size, "%s", lock->asked.reason);
    hf_client_end(lock->client, cancel);
    return asked;
}

int hf_ask_fd(struct hf_lock *lock)
{
    int cancel;

    int r = hf_client_begin(hf_lock_client(lock), &cancel);
    if (r < 0)
        return r;
    struct hf_asked *asked = &lock->asked;
    if (asked->fd < 0) {
        hf_low_take();
        asked->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        hf_low_give();
        if (asked->count > 0)
            make_readable(asked);
    }
    r = hf_client_need_fd(lock->client, asked->fd);
    hf_client_end(lock->client, cancel);
    return r;
}
