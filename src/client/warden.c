/* warden.c - see warden.h. */
#include "client/warden.h"

#include "base/fork.h"
#include "base/origin.h"
#include "base/spawn.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* A program that says nothing for so long is none of ours.  On a busy machine a program
 * may take seconds to start. */
#define PATIENCE (10 * HF_SEC)

#define LONGEST_LEASE (24 * 3600 * HF_SEC)

struct hf_warden {
    const struct hf_store *store;
    int                    socket; /* -1: there is none at present */
    char                 **environment;
    size_t                 environment_size; /* in bytes, all of it */
    const char            *url;              /* the client's, which outlives us */
    char                   path[];
};

/* ---- The environment ------------------------------------------------------------- */

/* As it is in hf_open(): later it is not for us to read, other threads may change it. */
static bool copy_environment(struct hf_warden *warden)
{
    size_t count = 0, bytes = 0;

    for (; environ != NULL && environ[count] != NULL; count++)
        bytes += strlen(environ[count]) + 1;
    size_t pointers = (count + 1) * sizeof(char *);
    char **copy = malloc(pointers + bytes);
    if (copy == NULL)
        return false;
    char *text = (char *)copy + pointers;
    for (size_t i = 0; i < count; i++) {
        copy[i] = text;
        text = stpcpy(text, environ[i]) + 1;
    }
    copy[count] = NULL;
    warden->environment = copy;
    warden->environment_size = pointers + bytes;
    return true;
}

/* There may be a password in it. */
static void free_environment(struct hf_warden *warden)
{
    if (warden->environment != NULL)
        explicit_bzero(warden->environment, warden->environment_size);
    free(warden->environment);
}

/* ---- The program ------------------------------------------------------------------ */

/* 0 or an errno.  A child that is forked meanwhile does not keep the warden's end: with a
 * copy of that we would not hear that the warden is gone.  Takes as long as exec() does;
 * so does the turn of the engine in which a warden is replaced. */
static int start_program(struct hf_warden *warden, int *pidfd)
{
    char *argv[] = { "holdfast", "warden", NULL };
    int   ends[2];

    assert(warden->socket < 0);
    hf_fork_pause();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        int error = errno;
        hf_fork_resume();
        return error;
    }
    int its_end = hf_fork_adopt(ends[1]);
    if (its_end < 0) {
        close(ends[0]);
        return ENOMEM;
    }
    hf_low_take();
    int error = hf_spawn_apart(warden->path, argv, warden->environment, its_end, pidfd);
    hf_low_give();
    hf_fork_close(its_end);
    if (error == 0)
        warden->socket = ends[0];
    else
        close(ends[0]);
    return error;
}

static int explain_start(int error, const char *path, char *errmsg)
{
    bool wrong_path =
        error == ENOENT || error == ENOTDIR || error == EACCES || error == ENOEXEC;

    snprintf(errmsg, HF_ERRMSG_MAX, "the warden %s cannot be started: %s%s", path,
             strerror(error),
             wrong_path ? "; set `warden` to the path of the holdfast program" : "");
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

/* Wait for its first word. */
static int await_hello(const struct hf_warden *warden, char *errmsg)
{
    char          text[sizeof HF_WARDEN_HELLO];
    hf_time       until = hf_now() + PATIENCE;
    hf_time       now;
    struct pollfd on = { .fd = warden->socket, .events = POLLIN };

    while ((now = hf_now()) < until)
        if (poll(&on, 1, hf_poll_ms(now, until)) > 0)
            break;
    ssize_t n = recv(warden->socket, text, sizeof text, MSG_DONTWAIT);
    if (n == sizeof text - 1 && memcmp(text, HF_WARDEN_HELLO, sizeof text - 1) == 0)
        return 0;
    if (n < 0 && errno == EAGAIN) {
        snprintf(errmsg, HF_ERRMSG_MAX, "the warden %s did not answer within %d s",
                 warden->path, (int)(PATIENCE / HF_SEC));
        return HF_ETIMEOUT;
    }
    snprintf(
        errmsg, HF_ERRMSG_MAX,
        "the warden %s %s: it is not holdfast, or an older one than the library; set "
        "`warden` to the path of another",
        warden->path, n <= 0 ? "ended at once" : "says what no warden says");
    return HF_EUNSUPPORTED;
}

static int start_first(struct hf_warden *warden, char *errmsg)
{
    int pidfd = -1;

    int error = start_program(warden, &pidfd);
    if (error != 0)
        return explain_start(error, warden->path, errmsg);
    int r = await_hello(warden, errmsg);
    if (r < 0 && pidfd >= 0) /* whatever it is, it is not to stay */
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    if (pidfd >= 0)
        close(pidfd);
    return r;
}

/* ---- What it is told --------------------------------------------------------------- */

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
    hf_time               lease = hf_sooner(warden->store->lease * 3 / 2, LONGEST_LEASE);
    struct hf_warden_word word = { .kind = HF_WARDEN_A_WILL,
                                   .lease_ms = (int32_t)(lease / HF_MS) };

    assert(lease > 0);
    snprintf(word.scheme, sizeof word.scheme, "%.*s", (int)strcspn(warden->url, ":"),
             warden->url);
    return send_word(warden, &word, will, size);
}

static void close_socket(struct hf_warden *warden)
{
    int fd = warden->socket;

    warden->socket = -1;
    if (fd >= 0)
        close(fd);
}

/* Whoever killed it gets another one, and so does one that does not listen.  If that cannot
 * be, the lease must do. */
void hf_warden_tell(struct hf_warden *warden, const uint8_t *will, size_t size)
{
    int pidfd = -1;

    if (send_will(warden, will, size))
        return;
    close_socket(warden);
    if (start_program(warden, &pidfd) == 0)
        (void)send_will(warden, will, size);
    if (pidfd >= 0)
        close(pidfd);
}

/* ---- Both ends of its life --------------------------------------------------------- */

/* Who runs with more rights than its caller must not hand the caller's environment to a
 * program that does not know: it could be made to load what the caller likes. */
static bool has_foreign_rights(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* Where it was installed with the library; in one folder with it; where the build meant it to
 * be. */
static const char *find_program(char room[PATH_MAX])
{
    return hf_origin_find(HF_WARDEN_BESIDE, "holdfast", room) ||
                   hf_origin_find(".", "holdfast", room)
               ? room
               : HF_WARDEN_PATH;
}

int hf_warden_start(struct hf_client *client, const char *path, char *errmsg)
{
    char found[PATH_MAX];

    assert(client->warden == NULL && client->store->outlives);
    assert(client->store->link != HF_LINK_UP); /* or its will would be missed */
    if (has_foreign_rights()) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "HF_WARDEN is not for programs that have more rights than their caller "
                 "(set-user-ID, set-group-ID, capabilities)");
        return HF_EDENIED;
    }
    path = path != NULL ? path : find_program(found);
    size_t            size = strlen(path) + 1;
    struct hf_warden *warden = malloc(sizeof *warden + size);
    if (warden == NULL)
        return HF_ENOMEM;
    *warden =
        (struct hf_warden){ .store = client->store, .socket = -1, .url = client->url };
    memcpy(warden->path, path, size);
    client->warden = warden; /* from here on it is dismissed */
    return copy_environment(warden) ? start_first(warden, errmsg) : HF_ENOMEM;
}

void hf_warden_dismiss(struct hf_client *client, bool told)
{
    struct hf_warden     *warden = client->warden;
    struct hf_warden_word word = { .kind =
                                       told ? HF_WARDEN_DISMISSED : HF_WARDEN_EXECUTE };

    if (warden == NULL)
        return;
    (void)send_word(warden, &word, NULL, 0);
    close_socket(warden);
    free_environment(warden);
    free(warden);
    client->warden = NULL;
}

void hf_warden_leave_to_parent(struct hf_client *client)
{
    if (client->warden != NULL)
        close_socket(client->warden);
}
