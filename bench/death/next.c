/* next.c - the next waiter's command, which checks whether earlier processes are still alive.
 *
 *     next [PIDFD...]          prints "started NANOSECONDS ALIVE"
 *
 * It first counts the processes that are alive, then reads the monotonic clock.  A pidfd becomes
 * readable when its process has ended, so no instruction of it runs any more.  See bench/death.py.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FDS 64

/* How many are alive; -1: not all arguments are descriptors. */
static int count_alive(char *const fds[], int count)
{
    struct pollfd of[FDS];
    int           alive = 0;

    for (int i = 0; i < count; i++)
        of[i] = (struct pollfd){ .fd = atoi(fds[i]), .events = POLLIN };
    if (poll(of, (nfds_t)count, 0) < 0)
        return -1;
    for (int i = 0; i < count; i++) {
        if (of[i].revents & (POLLNVAL | POLLERR))
            return -1;
        alive += (of[i].revents & POLLIN) == 0;
    }
    return alive;
}

int main(int argc, char **argv)
{
    struct timespec now;
    int             alive = argc - 1 <= FDS ? count_alive(argv + 1, argc - 1) : -1;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (alive < 0)
        return 2;
    printf("started %" PRId64 "%09ld %d\n", (int64_t)now.tv_sec, now.tv_nsec, alive);
    return 0;
}
