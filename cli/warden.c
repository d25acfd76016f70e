/* warden.c - warden: executes the will of a program when that dies.
 *
 * libholdfast starts it for programs with HF_WARDEN, and is at the other end of its stdin;
 * src/client/warden.h tells what is said there.  Nothing is opened before it is needed: it
 * is to be small, and to wait at no cost.
 */
#include "options.h"

#include "cli.h"
#include "clock.h"
#include "will.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINK        STDIN_FILENO
#define HELLO       "holdfast warden 1"
#define NAME        "holdfast-warden"
#define LONG_ENOUGH (30 * NS_PER_SEC) /* for most sessions: the lease is over by then */

static bool is_link(int fd)
{
    int       domain = 0, type = 0;
    socklen_t size = sizeof domain;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && domain == AF_UNIX &&
           type == SOCK_SEQPACKET;
}

/* Descriptors of the program: a pipe must not stay open because of us. */
static void close_the_rest(void)
{
    if (close_range(STDERR_FILENO + 1, ~0U, 0) == 0)
        return;
    DIR *open_ones = opendir("/proc/self/fd"); /* an old kernel, or a sandbox */
    if (open_ones == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(open_ones)) != NULL;) {
        int fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd != dirfd(open_ones))
            close(fd);
    }
    closedir(open_ones);
}

/* False: the program is dead, or has dismissed us and there is no will any more.
 * ECONNRESET: it died without having heard us.  That is told once, before what it said
 * last. */
static bool hear_program(struct will_kept *will)
{
    ssize_t n = recv(LINK, will->bytes, GUARD_WILL_MAX, MSG_TRUNC);

    if (n < 0 && (errno == EINTR || errno == ECONNRESET))
        return true;
    if (n <= 0)
        return false;
    will->size = n > 1 && n <= GUARD_WILL_MAX ? (size_t)n : 0;
    return n > 1;
}

int warden_main(const struct args *args)
{
    struct will_kept will;

    (void)args;
    if (!is_link(LINK)) {
        complain(
            "`holdfast warden` is started by programs with HF_WARDEN, never by hand");
        return EXIT_USAGE;
    }
    close_the_rest();
    prctl(PR_SET_NAME, NAME);
    if (will_make_room(&will) < 0)
        return EXIT_INTERNAL;
    /* A program that is dead already may have left a will. */
    send(LINK, HELLO, strlen(HELLO), MSG_NOSIGNAL);
    while (hear_program(&will))
        continue;
    will_execute(&will, clock_boot_ns() + LONG_ENOUGH);
    return 0;
}
