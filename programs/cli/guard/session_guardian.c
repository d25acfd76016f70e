/* session_guardian.c - see session_guardian.h. */
#include "guard/session_guardian.h"

#include "cli_options.h"
#include "clock.h"
#include "complain.h"
#include "guard/guardian.h"
#include "guard/settle.h"
#include "guardian_word.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Waiting for the end of all that use the lock --------------------------------- */

struct users {
    pid_t pid;
    int   process;     /* a pidfd; -1: it is dead, or has to be looked for */
    bool  dead;        /* the process is */
    bool  stdin_ended; /* or it does not matter */
};

#define LOOK_MS 50

static struct users users_of(pid_t process, bool stdin_matters)
{
    struct users users = { .pid = process, .process = -1, .stdin_ended = !stdin_matters };

    if (process > 0) {
        users.process = (int)syscall(SYS_pidfd_open, process, 0);
        users.dead = users.process < 0 && errno == ESRCH;
    }
    return users;
}

/* Without a pidfd, on Linux before 5.3 or in a sandbox: look for it again and again.
 * Another process with the same pid is taken for it: then the lease ends the session. */
static bool has_to_be_looked_for(const struct users *users)
{
    return users->pid > 0 && users->process < 0 && !users->dead;
}

/* Input is thrown away, as hold does: a full pipe would block its writer. */
static bool stdin_has_ended(void)
{
    char    waste[4096];
    ssize_t n = read(STDIN_FILENO, waste, sizeof waste);

    return n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

/* False: the deadline came first. */
static bool all_gone_by(struct users *users, int64_t deadline)
{
    for (;;) {
        struct pollfd on[] = {
            { .fd = users->stdin_ended ? -1 : STDIN_FILENO, .events = POLLIN },
            { .fd = users->dead ? -1 : users->process, .events = POLLIN },
        };
        bool looks = has_to_be_looked_for(users);
        users->dead |= looks && kill(users->pid, 0) < 0 && errno == ESRCH;
        if (users->stdin_ended && users->dead)
            return true;
        int64_t left = deadline - clock_boot_ns();
        int64_t ms = left > 0 ? left / NS_PER_MS + 1 : 0;
        ms = looks && ms > LOOK_MS ? LOOK_MS : ms;
        if (poll(on, 2, ms < INT_MAX ? (int)ms : INT_MAX) > 0) {
            users->stdin_ended |= on[0].revents != 0 && stdin_has_ended();
            users->dead |= on[1].revents != 0;
        } else if (left <= 0) {
            return false;
        }
    }
}

/* ---- holdfast hold ---------------------------------------------------------------- */

#define HOLD_LINK (STDERR_FILENO + 1)

/* False: hold is dead. */
static bool hear_hold(struct kept_key *key, int64_t *deadline)
{
    struct guard_order order;
    enum link_heard    heard = link_hear(HOLD_LINK, true, &order, key);

    if (heard == LINK_ORDER && order.kind == GUARD_DISMISS)
        _exit(0);
    if (heard == LINK_ORDER && order.kind == GUARD_DEADLINE)
        *deadline = order.deadline;
    return heard != LINK_ENDED;
}

/* Only stdin and the link stay open: a reader of hold's output must see its end. */
static _Noreturn void guard_hold(int link, pid_t parent)
{
    struct kept_key key;
    int64_t         deadline = 0;

    settle_apart(GUARD_NAME);
    if (link != HOLD_LINK && dup3(link, HOLD_LINK, O_CLOEXEC) < 0)
        _exit(1);
    settle_descriptors(HOLD_LINK + 1);
    settle_stdio(STDOUT_FILENO, STDERR_FILENO);
    if (kept_key_init(&key) < 0)
        _exit(1);
    while (hear_hold(&key, &deadline))
        continue;
    struct users users = users_of(parent, true);
    bool         held = deadline != 0;
    if (key.size > 0 && (!held || all_gone_by(&users, deadline)))
        kept_key_end_session(&key, deadline);
    _exit(0);
}

static bool stdin_has_another_end(void)
{
    struct stat what;

    return fstat(STDIN_FILENO, &what) == 0 &&
           (S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode));
}

int session_guardian_start(struct session_guardian *ret)
{
    int   link;
    pid_t parent = getppid();

    *ret = (struct session_guardian){ .guard = { .link = -1 } };
    if (!stdin_has_another_end())
        return 0;
    pid_t pid = guard_fork(&link);
    if (pid == 0)
        guard_hold(link, parent);
    if (pid < 0)
        return -1;
    ret->guard = (struct guard){ .pid = pid, .link = link };
    return 0;
}

void session_guardian_tell(struct session_guardian *guardian, const struct hf_lock *lock)
{
    if (guardian != NULL)
        session_guardian_tell_deadline(guardian, session_deadline(lock));
}

void session_guardian_tell_deadline(struct session_guardian *guardian, int64_t deadline)
{
    if (guardian->guard.link < 0)
        return;
    if (!session_deadline_moved(guardian->deadline, deadline))
        return;
    if (guard_tell(&guardian->guard, GUARD_DEADLINE, 0, deadline) == 0)
        guardian->deadline = deadline;
    else if (guardian->deadline == 0)
        guard_finish(&guardian->guard); /* it would not wait for the user */
}

/* ---- holdfast guardian ------------------------------------------------------------ */

/* libholdfast has the other end; src/client/end/end.h lists the packets. */
#define PROGRAM_LINK STDIN_FILENO

static bool is_link(int fd)
{
    int       domain = 0, type = 0;
    socklen_t size = sizeof domain;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && domain == AF_UNIX &&
           type == SOCK_SEQPACKET;
}

/* The process that made the link.  False: it is in a PID namespace that we do not see. */
static bool find_program(struct users *ret)
{
    struct ucred peer;
    socklen_t    size = sizeof peer;

    if (getsockopt(PROGRAM_LINK, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    *ret = users_of(peer.pid, false);
    return peer.pid > 0;
}

/* Load the libraries of the store now: when the session has to be ended, the disk may be
 * busy or the package replaced. */
static void load_store(const struct hf_guardian_word *word)
{
    char url[sizeof word->scheme + 1];

    snprintf(url, sizeof url, "%.*s:", (int)strnlen(word->scheme, sizeof word->scheme),
             word->scheme);
    int r = hf_load(url, NULL, 0);
    (void)r; /* if that fails, so will ending the session */
}

/* False: there is no more to come. */
static bool hear_program(struct kept_key *key, struct hf_guardian_word *word,
                         int64_t *lease_ns)
{
    if (!link_hear_program(PROGRAM_LINK, word, key))
        return false;
    *lease_ns = word->lease_ms * NS_PER_MS;
    load_store(word);
    return true;
}

/* End of file does not prove that the program is dead: it may have closed descriptors
 * that it does not know, or called exec(). */
static void guard_program(struct users *program, struct kept_key *key)
{
    struct hf_guardian_word word = { .kind = HF_GUARDIAN_KEY };
    int64_t                 lease_ns = 0;

    while (hear_program(key, &word, &lease_ns))
        continue;
    int64_t deadline = clock_boot_ns() + lease_ns;
    if (word.kind == HF_GUARDIAN_DISMISSED || key->size == 0)
        return;
    if (word.kind == HF_GUARDIAN_END_SESSION || all_gone_by(program, deadline))
        kept_key_end_session(key, deadline);
}

/* Opens nothing before it is needed, so that it is small and waits at no cost. */
int guardian_main(const struct args *args)
{
    struct users    program;
    struct kept_key key;

    (void)args;
    if (!is_link(PROGRAM_LINK)) {
        complain(
            "`holdfast guardian` is started by programs with HF_GUARDIAN; do not start "
            "it by hand");
        return EXIT_USAGE;
    }
    settle_descriptors(STDERR_FILENO + 1);
    prctl(PR_SET_NAME, GUARD_NAME);
    prctl(PR_SET_DUMPABLE, 0); /* no core dump: there may be passwords in the key */
    if (!find_program(&program) || kept_key_init(&key) < 0)
        return EXIT_INTERNAL;
    /* If this fails the program is dead, but may have left us its session key. */
    (void)send(PROGRAM_LINK, HF_GUARDIAN_HELLO, strlen(HF_GUARDIAN_HELLO), MSG_NOSIGNAL);
    guard_program(&program, &key);
    return 0;
}
