/* poll.c - see poll.h. */
#include "store/remote/poll.h"

#include "base/fork.h"
#include "store/store.h"

#include <assert.h>
#include <stdio.h>
#include <sys/epoll.h>

int hf_poll_open(char *errmsg)
{
    hf_fork_pause();
    int fd = hf_fork_adopt(epoll_create1(EPOLL_CLOEXEC));
    if (fd >= 0)
        return fd;
    snprintf(errmsg, HF_ERRMSG_MAX, "no descriptor is left to watch the server with");
    return HF_ESTORE;
}

int hf_polled_set(struct hf_polled *polled, int epoll, int fd, unsigned events)
{
    struct epoll_event event = { .events = events };

    assert(events == 0 || fd >= 0);
    if (polled->events != 0 && (polled->fd != fd || events == 0))
        hf_polled_end(polled, epoll);
    if (polled->events == events)
        return 0;
    int op = polled->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    *polled = (struct hf_polled){ fd, events, hf_fork_generation() };
    return epoll_ctl(epoll, op, fd, &event) == 0 ? 0 : HF_ENOMEM;
}

void hf_polled_end(struct hf_polled *polled, int epoll)
{
    if (polled->events != 0 && polled->generation == hf_fork_generation())
        epoll_ctl(epoll, EPOLL_CTL_DEL, polled->fd, NULL);
    *polled = (struct hf_polled){ 0 };
}
