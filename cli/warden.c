/* warden.c - warden: executes the will of a program when that dies.
 *
 * libholdfast starts it for programs with HF_WARDEN, and is at the other end of its stdin;
 * src/client/warden.h tells what is said there.  Nothing is opened before it is needed: it
 * is to be small, and to wait at no cost.  Only libraries are loaded before: when the will is
 * executed, the disk may be full of other work, and a package may have been replaced.
 *
 *     the link ends --+-- the program is dead --------------------> execute
 *                     |
 *                     +-- it lives: it has closed all that it did not open itself, or has
 *                         called exec() --+-- it dies ------------> execute
 *                                         +-- the lease is over --> leave
 */
#include "options.h"

#include "cli.h"
#include "clock.h"
#include "settle.h"
#include "warden_word.h"
#include "will.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINK STDIN_FILENO
#define NAME "hf-warden"

struct charge {
    int              program; /* a pidfd; -1: it is dead */
    struct will_kept will;
    int64_t          lease_ns;
};

static bool is_link(int fd)
{
    int       domain = 0, type = 0;
    socklen_t size = sizeof domain;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && domain == AF_UNIX &&
           type == SOCK_SEQPACKET;
}

/* Whoever made the link.  False: the kernel does not tell when it dies. */
static bool know_program(struct charge *charge)
{
    struct ucred peer;
    socklen_t    size = sizeof peer;

    if (getsockopt(LINK, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    charge->program = (int)syscall(SYS_pidfd_open, peer.pid, 0);
    return charge->program >= 0 || errno == ESRCH;
}

static ssize_t receive(struct hf_warden_word *word, struct will_kept *will)
{
    struct iovec  parts[] = { { .iov_base = word, .iov_len = sizeof *word },
                              { .iov_base = will->bytes, .iov_len = GUARD_WILL_MAX } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
    ssize_t       n;

    /* A program that never read our HELLO has died: what it said comes after that error. */
    do
        n = recvmsg(LINK, &message, MSG_TRUNC);
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    return n;
}

/* What the will is executed with.  If that cannot be, executing it will tell. */
static void load(const struct hf_warden_word *word)
{
    char url[sizeof word->scheme + 1];

    snprintf(url, sizeof url, "%.*s:", (int)strnlen(word->scheme, sizeof word->scheme),
             word->scheme);
    int r = hf_load(url, NULL, 0);
    (void)r;
}

/* False: there is no more to come. */
static bool hear(struct charge *charge, struct hf_warden_word *word)
{
    struct will_kept *will = &charge->will;
    ssize_t           n = receive(word, will);

    if (n < (ssize_t)sizeof *word || word->kind != HF_WARDEN_A_WILL)
        return false;
    n -= (ssize_t)sizeof *word;
    will->size = n <= GUARD_WILL_MAX ? (size_t)n : 0;
    charge->lease_ns = word->lease_ms * NS_PER_MS;
    load(word);
    return true;
}

static bool is_dead_by(const struct charge *charge, int64_t deadline)
{
    struct pollfd on = { .fd = charge->program, .events = POLLIN };

    if (charge->program < 0)
        return true;
    for (;;) {
        int64_t left = deadline - clock_boot_ns();
        if (poll(&on, 1, left > 0 ? (int)(left / NS_PER_MS) + 1 : 0) > 0)
            return true;
        if (left <= 0)
            return false;
    }
}

static void take_charge(struct charge *charge)
{
    struct hf_warden_word word = { .kind = HF_WARDEN_A_WILL };

    while (hear(charge, &word))
        continue;
    int64_t deadline = clock_boot_ns() + charge->lease_ns;
    if (word.kind == HF_WARDEN_DISMISSED || charge->will.size == 0)
        return;
    if (word.kind == HF_WARDEN_EXECUTE || is_dead_by(charge, deadline))
        will_execute(&charge->will, deadline);
}

int warden_main(const struct args *args)
{
    struct charge charge = { .program = -1 };

    (void)args;
    if (!is_link(LINK)) {
        complain(
            "`holdfast warden` is started by programs with HF_WARDEN, never by hand");
        return EXIT_USAGE;
    }
    settle_descriptors(STDERR_FILENO + 1);
    prctl(PR_SET_NAME, NAME);
    prctl(PR_SET_DUMPABLE, 0); /* passwords: the program itself may not be either */
    if (!know_program(&charge) || will_make_room(&charge.will) < 0)
        return EXIT_INTERNAL;
    /* If it cannot be said, the program is dead, but may have left us its will. */
    (void)send(LINK, HF_WARDEN_HELLO, strlen(HF_WARDEN_HELLO), MSG_NOSIGNAL);
    take_charge(&charge);
    return 0;
}
