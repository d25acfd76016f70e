/* lookup.c - the addresses of a host, looked up while others are served. */
#include "store/redis/inner.h"

#include <sys/epoll.h>

void hf_redis_lookup_end(struct hf_redis *redis, struct hf_redis_lookup *lookup)
{
    if (lookup->resolve == NULL)
        return;
    if (lookup->polled)
        epoll_ctl(redis->served.base.fd, EPOLL_CTL_DEL, hf_resolve_fd(lookup->resolve),
                  NULL);
    lookup->polled = false;
    hf_resolve_free(lookup->resolve);
    lookup->resolve = NULL;
}

int hf_redis_lookup_start(struct hf_redis *redis, struct hf_redis_lookup *lookup,
                          const char *host, const char *port)
{
    hf_redis_lookup_end(redis, lookup);
    lookup->count = lookup->next = 0;
    return hf_resolve_new(host, port, &lookup->resolve);
}

/* Epoll knows when it is over. */
static void look(struct hf_redis *redis, struct hf_redis_lookup *lookup)
{
    struct epoll_event event = { .events = EPOLLIN };

    if (lookup->polled)
        return;
    epoll_ctl(redis->served.base.fd, EPOLL_CTL_ADD, hf_resolve_fd(lookup->resolve),
              &event);
    lookup->polled = true;
}

int hf_redis_lookup_get(struct hf_redis *redis, struct hf_redis_lookup *lookup)
{
    int n = hf_resolve_get(lookup->resolve, lookup->address, HF_RESOLVE_MAX);

    if (n > 0) {
        lookup->count = n;
        hf_redis_lookup_end(redis, lookup);
    } else if (n == 0) {
        look(redis, lookup);
    }
    return n;
}
