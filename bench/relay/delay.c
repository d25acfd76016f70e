/* delay.c - simulates a distance: passes data on after a delay, in both directions.
 *
 *     delay TARGET-PORT MICROSECONDS
 *
 * For kernels without netem.  It listens on a port of 127.0.0.1 and prints which.  It answers each
 * line on stdin with the traffic since the last one,
 *
 *     TRIPS SEGMENTS BYTES
 *
 * TRIPS: everything that a client sends until the server sends something counts as one; SEGMENTS:
 * the number of reads in both directions.  Ends with stdin.
 *
 * There is one thread, and one list of delayed data, because the delay is the same for all.  A side
 * that does not read delays only itself: its data is retried when it can be written.
 */
#include "bench/common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define SEGMENT 65536
#define EVENTS  64
#define EARLY   5.0 /* us: data that is due this soon is sent, too */

struct chunk {
    struct chunk *next;
    struct side  *to;
    double        due;
    size_t        size, sent;
    char          bytes[]; /* none: the other end has closed */
};

/* One of two connected sockets. */
struct side {
    struct side  *other, *next_over;
    int           fd;
    bool          is_client;
    bool          asked;         /* of a client: since the server last sent something */
    bool          ended;         /* has sent everything */
    bool          gone;          /* cannot be written to any more */
    struct chunk *first, **last; /* due, but not yet writable */
    size_t        coming;        /* chunks on their way to it, including those */
    uint32_t      events;        /* events for epoll */
};

static struct chunk *head, **tail = &head;
static struct side
             *over; /* to be closed later: the last epoll events may be about them */
static int    epoll, timer, listener, target;
static double delay;
static unsigned long trips, segments, bytes;

static struct sockaddr_in here(int port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void watch(int fd, void *data, uint32_t events, int how)
{
    struct epoll_event event = { .events = events, .data.ptr = data };

    must(epoll_ctl(epoll, how, fd, &event) == 0, "epoll_ctl");
}

/* epoll would report a closed socket again and again. */
static void watch_side(struct side *side)
{
    uint32_t events = (side->ended ? 0u : (uint32_t)EPOLLIN) |
                      (side->first != NULL ? (uint32_t)EPOLLOUT : 0u);

    if (events != side->events)
        watch(side->fd, side, events,
              side->events == 0 ? EPOLL_CTL_ADD
              : events == 0     ? EPOLL_CTL_DEL
                                : EPOLL_CTL_MOD);
    side->events = events;
}

/* ---- Connections -------------------------------------------------------------------------- */

static struct side *new_side(int fd, bool is_client)
{
    struct side *side = calloc(1, sizeof *side);
    int          on = 1;

    must(side != NULL, "calloc");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    side->fd = fd;
    side->is_client = is_client;
    side->last = &side->first;
    return side;
}

static void accept_one(void)
{
    struct sockaddr_in to = here(target);
    int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (client < 0 || server < 0 ||
        connect(server, (struct sockaddr *)&to, sizeof to) < 0) {
        close(client);
        close(server);
        return;
    }
    struct side *a = new_side(client, true), *b = new_side(server, false);
    a->other = b;
    b->other = a;
    watch_side(a);
    watch_side(b);
}

/* Both ends have sent everything, and it was passed on or cannot be. */
static bool is_over(const struct side *side)
{
    return side->ended && side->other->ended && side->coming == 0 &&
           side->other->coming == 0;
}

/* ---- Delayed data --------------------------------------------------------------------------- */

static void count(struct side *from, size_t size)
{
    struct side *client = from->is_client ? from : from->other;

    trips += from->is_client && !client->asked;
    client->asked = from->is_client;
    segments++;
    bytes += size;
}

static void take_in(struct side *from)
{
    static char buffer[SEGMENT];
    ssize_t     size = recv(from->fd, buffer, sizeof buffer, MSG_DONTWAIT);

    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    size_t        length = size > 0 ? (size_t)size : 0;
    struct chunk *chunk = malloc(sizeof *chunk + length);
    must(chunk != NULL, "malloc");
    *chunk = (struct chunk){ .to = from->other, .due = now_us() + delay, .size = length };
    memcpy(chunk->bytes, buffer, length);
    *tail = chunk;
    tail = &chunk->next;
    from->other->coming++;
    if (length > 0)
        count(from, length);
    from->ended = length == 0;
    watch_side(from);
}

/* Writes as much as possible. */
static void hand_on(struct side *to)
{
    while (to->first != NULL) {
        struct chunk *chunk = to->first;
        ssize_t       size = 0;
        if (chunk->size == 0)
            shutdown(to->fd, SHUT_WR);
        else if (!to->gone)
            size = send(to->fd, chunk->bytes + chunk->sent, chunk->size - chunk->sent,
                        MSG_DONTWAIT | MSG_NOSIGNAL);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        to->gone = to->gone || size < 0;
        chunk->sent += size > 0 ? (size_t)size : 0;
        if (!to->gone && chunk->sent < chunk->size)
            continue;
        to->first = chunk->next;
        if (to->first == NULL)
            to->last = &to->first;
        to->coming--;
        free(chunk);
    }
    watch_side(to);
    if (is_over(to)) {
        to->next_over = over;
        over = to;
    }
}

static void deliver_due(void)
{
    while (head != NULL && head->due <= now_us() + EARLY) {
        struct chunk *chunk = head;
        struct side  *to = chunk->to;
        head = chunk->next;
        if (head == NULL)
            tail = &head;
        chunk->next = NULL;
        *to->last = chunk;
        to->last = &chunk->next;
        hand_on(to);
    }
    if (head != NULL) {
        long long         due = (long long)(head->due * 1e3);
        struct itimerspec at = { .it_value = { due / 1000000000, due % 1000000000 } };
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
    }
}

/* ---- The loop ------------------------------------------------------------------------------- */

static void close_over(void)
{
    while (over != NULL) {
        struct side *side = over;
        over = side->next_over;
        close(side->fd);
        close(side->other->fd);
        free(side->other);
        free(side);
    }
}

/* Returns false at the end of stdin. */
static bool answer(void)
{
    char    line[64];
    ssize_t size = read(STDIN_FILENO, line, sizeof line);

    printf("%lu %lu %lu\n", trips, segments, bytes);
    fflush(stdout);
    trips = segments = bytes = 0;
    return size > 0;
}

static bool serve(const struct epoll_event *event)
{
    struct side *side = event->data.ptr;
    uint64_t     rang;

    if (event->data.ptr == &listener)
        accept_one();
    else if (event->data.ptr == &timer)
        must(read(timer, &rang, sizeof rang) == sizeof rang || errno == EAGAIN, "timer");
    else if (event->data.ptr == &trips)
        return answer();
    else {
        if (event->events & EPOLLOUT)
            hand_on(side);
        if (!side->ended && event->events & ~(uint32_t)EPOLLOUT)
            take_in(side);
    }
    return true;
}

static void open_all(void)
{
    struct sockaddr_in at = here(0);
    socklen_t          size = sizeof at;

    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    must(listener >= 0 && bind(listener, (struct sockaddr *)&at, sizeof at) == 0 &&
             listen(listener, 1024) == 0 &&
             getsockname(listener, (struct sockaddr *)&at, &size) == 0,
         "listening");
    epoll = epoll_create1(EPOLL_CLOEXEC);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    must(epoll >= 0 && timer >= 0, "epoll");
    watch(listener, &listener, EPOLLIN, EPOLL_CTL_ADD);
    watch(timer, &timer, EPOLLIN, EPOLL_CTL_ADD);
    watch(STDIN_FILENO, &trips, EPOLLIN, EPOLL_CTL_ADD);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS];
    bool               go_on = true;

    if (argc != 3) {
        fprintf(stderr, "usage: %s TARGET-PORT MICROSECONDS\n", argv[0]);
        return 2;
    }
    target = atoi(argv[1]);
    delay = strtod(argv[2], NULL);
    open_all();
    while (go_on) {
        int count = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < count; i++)
            go_on = serve(&events[i]) && go_on;
        deliver_due();
        close_over();
    }
    return 0;
}
