/* warden.c - see warden.h. */
#include "client/warden.h"

#include "base/fork.h"
#include "base/spawn.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* A program that says nothing for so long is none of ours.  On a busy machine a program
 * may take seconds to start. */
#define PATIENCE (10 * HF_SEC)

#define LONGEST_LEASE (24 * 3600 * HF_SEC)

struct hf_warden {
    const struct hf_store *store;
    int                    socket; /* -1: there is none at present */
    char                   path[];
};

/* 0 or an errno.  Nobody may fork meanwhile: with a copy of the warden's end we would not
 * hear that the warden is gone. */
static int start_program(struct hf_warden *warden)
{
    char *argv[] = { "holdfast", "warden", NULL };
    int   ends[2];

    assert(warden->socket < 0);
    hf_fork_pause();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        hf_fork_resume();
        return errno;
    }
    int error = hf_spawn_apart(warden->path, argv, ends[1]);
    close(ends[1]);
    hf_fork_resume();
    if (error == 0)
        warden->socket = ends[0];
    else
        close(ends[0]);
    return error;
}

static bool said_hello(const struct hf_warden *warden)
{
    char    text[sizeof HF_WARDEN_HELLO];
    hf_time until = hf_now() + PATIENCE;
    hf_time now;

    while ((now = hf_now()) < until) {
        struct pollfd on = { .fd = warden->socket, .events = POLLIN };
        if (poll(&on, 1, hf_poll_ms(now, until)) > 0)
            break;
    }
    ssize_t n = recv(warden->socket, text, sizeof text, MSG_DONTWAIT);
    return n == sizeof text - 1 && memcmp(text, HF_WARDEN_HELLO, sizeof text - 1) == 0;
}

static int explain_start(int error, const char *path, char *errmsg)
{
    const char *advice = "; set `warden` to the path of the holdfast program";

    snprintf(errmsg, HF_ERRMSG_MAX, "the warden %s cannot be started: %s%s", path,
             strerror(error), error == EAGAIN || error == ENOMEM ? "" : advice);
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return HF_ENOTFOUND;
    case EACCES:
    case EPERM:
        return HF_EDENIED;
    case ENOMEM:
        return HF_ENOMEM;
    default:
        return HF_ESTORE;
    }
}

/* Never waits.  False: there is no warden, or none that listens. */
static bool send_word(const struct hf_warden *warden, const struct hf_warden_word *word,
                      const uint8_t *will, size_t size)
{
    struct iovec  parts[] = { { .iov_base = (void *)word, .iov_len = sizeof *word },
                              { .iov_base = (void *)will, .iov_len = size } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

    assert((word->kind == HF_WARDEN_A_WILL) == (size > 0));
    return warden->socket >= 0 &&
           sendmsg(warden->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* A server may take half as long again to find that a lease is over. */
static bool send_will(const struct hf_warden *warden, const uint8_t *will, size_t size)
{
    hf_time lease = hf_sooner(warden->store->lease * 3 / 2, LONGEST_LEASE);

    assert(lease > 0);
    return send_word(warden,
                     &(struct hf_warden_word){ .kind = HF_WARDEN_A_WILL,
                                               .lease_ms = (int32_t)(lease / HF_MS) },
                     will, size);
}

/* Whoever killed it gets another one.  If that cannot be, the lease must do. */
void hf_warden_tell(struct hf_warden *warden, const uint8_t *will, size_t size)
{
    if (send_will(warden, will, size))
        return;
    if (warden->socket >= 0)
        close(warden->socket);
    warden->socket = -1;
    if (start_program(warden) == 0)
        (void)send_will(warden, will, size);
}

static int start_first(struct hf_warden *warden, char *errmsg)
{
    int  error = start_program(warden);
    bool hello = error == 0 && said_hello(warden);

    if (error != 0)
        return explain_start(error, warden->path, errmsg);
    if (hello)
        return 0;
    snprintf(
        errmsg, HF_ERRMSG_MAX,
        "%s is no holdfast program that can be a warden: set `warden` to the path of "
        "one that is as new as the library",
        warden->path);
    return HF_EUNSUPPORTED;
}

int hf_warden_start(struct hf_client *client, const char *path, char *errmsg)
{
    assert(client->warden == NULL && client->store->outlives);
    assert(client->store->link != HF_LINK_UP); /* or its will would be missed */
    path = path != NULL ? path : HF_WARDEN_PATH;
    size_t            size = strlen(path) + 1;
    struct hf_warden *warden = malloc(sizeof *warden + size);
    if (warden == NULL)
        return HF_ENOMEM;
    warden->store = client->store;
    warden->socket = -1;
    memcpy(warden->path, path, size);
    client->warden = warden; /* from here on it is dismissed */
    return start_first(warden, errmsg);
}

void hf_warden_dismiss(struct hf_client *client, bool told)
{
    struct hf_warden     *warden = client->warden;
    struct hf_warden_word word = { .kind =
                                       told ? HF_WARDEN_DISMISSED : HF_WARDEN_EXECUTE };

    if (warden == NULL)
        return;
    (void)send_word(warden, &word, NULL, 0);
    if (warden->socket >= 0)
        close(warden->socket);
    free(warden);
    client->warden = NULL;
}
