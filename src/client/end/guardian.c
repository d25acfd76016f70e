/* guardian.c - starting the guardian and sending it session keys; see end.h. */
#include "client/end/end.h"

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

/* How long to wait for HELLO.  On a busy machine a program may take seconds to start. */
#define PATIENCE (10 * HF_SEC)

#define LONGEST_LEASE (24 * 3600 * HF_SEC)

struct hf_guardian {
    const struct hf_store *store;
    int                    socket; /* -1: it does not run at present */
    char                 **environment;
    size_t                 environment_size; /* in bytes */
    const char            *url;              /* the client's, which outlives us */
    char                   path[];
};

/* ---- The environment ------------------------------------------------------------- */

/* Copied in hf_open(): later another thread may be changing the environment. */
static bool copy_environment(struct hf_guardian *guardian)
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
    guardian->environment = copy;
    guardian->environment_size = pointers + bytes;
    return true;
}

/* It may contain a password. */
static void free_environment(struct hf_guardian *guardian)
{
    if (guardian->environment != NULL)
        explicit_bzero(guardian->environment, guardian->environment_size);
    free(guardian->environment);
}

/* ---- The program ------------------------------------------------------------------ */

/* 0 or an errno.  A child that is forked meanwhile must not inherit the guardian's end
 * of the socket, or we would not notice the death of the guardian.  Takes as long as
 * exec() does; so does a turn of the engine that replaces a dead guardian. */
static int start_program(struct hf_guardian *guardian, int *pidfd)
{
    char *argv[] = { "holdfast", "guardian", NULL };
    int   ends[2];

    assert(guardian->socket < 0);
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
    int error =
        hf_spawn_apart(guardian->path, argv, guardian->environment, its_end, pidfd);
    hf_low_give();
    hf_fork_close(its_end);
    if (error == 0)
        guardian->socket = ends[0];
    else
        close(ends[0]);
    return error;
}

static int explain_start(int error, const char *path, char *errmsg)
{
    bool wrong_path =
        error == ENOENT || error == ENOTDIR || error == EACCES || error == ENOEXEC;

    snprintf(errmsg, HF_ERRMSG_MAX, "the guardian %s cannot be started: %s%s", path,
             strerror(error),
             wrong_path ? "; set `guardian` to the path of the holdfast program" : "");
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

static int await_hello(const struct hf_guardian *guardian, char *errmsg)
{
    char          text[sizeof HF_GUARDIAN_HELLO];
    hf_time       until = hf_now() + PATIENCE;
    hf_time       now;
    struct pollfd on = { .fd = guardian->socket, .events = POLLIN };

    while ((now = hf_now()) < until)
        if (poll(&on, 1, hf_poll_ms(now, until)) > 0)
            break;
    ssize_t n = recv(guardian->socket, text, sizeof text, MSG_DONTWAIT);
    if (n == sizeof text - 1 && memcmp(text, HF_GUARDIAN_HELLO, sizeof text - 1) == 0)
        return 0;
    if (n < 0 && errno == EAGAIN) {
        snprintf(errmsg, HF_ERRMSG_MAX, "the guardian %s did not answer within %d s",
                 guardian->path, (int)(PATIENCE / HF_SEC));
        return HF_ETIMEOUT;
    }
    snprintf(errmsg, HF_ERRMSG_MAX,
             "the guardian %s %s: it is not holdfast, or older than the library; set "
             "`guardian` to the path of another one",
             guardian->path,
             n <= 0 ? "ended at once" : "does not answer like a guardian");
    return HF_EUNSUPPORTED;
}

static int start_first(struct hf_guardian *guardian, char *errmsg)
{
    int pidfd = -1;

    int error = start_program(guardian, &pidfd);
    if (error != 0)
        return explain_start(error, guardian->path, errmsg);
    int r = await_hello(guardian, errmsg);
    if (r < 0 && pidfd >= 0) /* whatever program it is, do not leave it running */
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    if (pidfd >= 0)
        close(pidfd);
    return r;
}

/* ---- Packets ---------------------------------------------------------------------- */

/* Never waits.  False: the guardian is dead, or does not read. */
static bool send_word(const struct hf_guardian      *guardian,
                      const struct hf_guardian_word *word, const uint8_t *key,
                      size_t size)
{
    struct iovec  parts[] = { { .iov_base = (void *)word, .iov_len = sizeof *word },
                              { .iov_base = (void *)key, .iov_len = size } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

    assert((word->kind == HF_GUARDIAN_KEY) == (size > 0));
    return guardian->socket >= 0 &&
           sendmsg(guardian->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* A server may notice the end of a lease late, by half its length. */
static bool send_key(const struct hf_guardian *guardian, const uint8_t *key, size_t size)
{
    hf_time lease = hf_sooner(guardian->store->lease * 3 / 2, LONGEST_LEASE);
    struct hf_guardian_word word = { .kind = HF_GUARDIAN_KEY,
                                     .lease_ms = (int32_t)(lease / HF_MS) };

    assert(lease > 0);
    snprintf(word.scheme, sizeof word.scheme, "%.*s", (int)strcspn(guardian->url, ":"),
             guardian->url);
    return send_word(guardian, &word, key, size);
}

static void close_socket(struct hf_guardian *guardian)
{
    int fd = guardian->socket;

    guardian->socket = -1;
    if (fd >= 0)
        close(fd);
}

/* A guardian that was killed, or does not read, is replaced.  If that fails, the lease
 * still ends the session. */
void hf_guardian_send_key(struct hf_guardian *guardian, const uint8_t *key, size_t size)
{
    int pidfd = -1;

    if (send_key(guardian, key, size))
        return;
    close_socket(guardian);
    if (start_program(guardian, &pidfd) == 0)
        (void)send_key(guardian, key, size);
    if (pidfd >= 0)
        close(pidfd);
}

/* ---- Start and end ----------------------------------------------------------------- */

/* A program with more rights than its caller must not pass the caller's environment to
 * a program that is not aware of this: the caller could make it load any library. */
static bool has_foreign_rights(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* Where it was installed together with the library, or in the same folder, or where the
 * build was configured to put it. */
static const char *find_program(char room[PATH_MAX])
{
    return hf_origin_find(HF_GUARDIAN_BESIDE, "holdfast", room) ||
                   hf_origin_find(".", "holdfast", room)
               ? room
               : HF_GUARDIAN_PATH;
}

int hf_guardian_start(struct hf_client *client, const char *path, char *errmsg)
{
    char found[PATH_MAX];

    assert(client->guardian == NULL && client->store->outlives);
    assert(client->store->link != HF_LINK_UP); /* else the first key would be missed */
    if (has_foreign_rights()) {
        snprintf(
            errmsg, HF_ERRMSG_MAX,
            "HF_GUARDIAN is not for programs that have more rights than their caller "
            "(set-user-ID, set-group-ID, capabilities)");
        return HF_EDENIED;
    }
    path = path != NULL ? path : find_program(found);
    size_t              size = strlen(path) + 1;
    struct hf_guardian *guardian = malloc(sizeof *guardian + size);
    if (guardian == NULL)
        return HF_ENOMEM;
    *guardian =
        (struct hf_guardian){ .store = client->store, .socket = -1, .url = client->url };
    memcpy(guardian->path, path, size);
    client->guardian = guardian; /* hf_guardian_dismiss() frees it */
    return copy_environment(guardian) ? start_first(guardian, errmsg) : HF_ENOMEM;
}

void hf_guardian_dismiss(struct hf_client *client, bool released)
{
    struct hf_guardian     *guardian = client->guardian;
    struct hf_guardian_word word = { .kind = released ? HF_GUARDIAN_DISMISSED
                                                      : HF_GUARDIAN_END_SESSION };

    if (guardian == NULL)
        return;
    (void)send_word(guardian, &word, NULL, 0);
    close_socket(guardian);
    free_environment(guardian);
    free(guardian);
    client->guardian = NULL;
}

void hf_guardian_leave_to_parent(struct hf_client *client)
{
    if (client->guardian != NULL)
        close_socket(client->guardian);
}
