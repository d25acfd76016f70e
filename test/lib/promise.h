/* promise.h - helps tests below the library: stores driven by hand, and child processes.
 *
 * A player is one opened store, that is one session.  A test opens several on the URL
 * that is its first argument or in HF_TEST_URL; some of them in child processes, if
 * processes share the store.
 *
 * Locks are named after the test, so that tests do not disturb each other.
 */
#ifndef HF_TEST_PROMISE_H
#define HF_TEST_PROMISE_H

#include "lib/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

#include <cmocka.h>

struct player {
    struct hf_store *store;
    uint64_t         ids;
    int              lost; /* how often the link was lost */
};

/* Take the URL; call first.  Or set one, which the caller keeps. */
void        promise_start(int argc, char **argv);
void        promise_use(const char *text);
const char *promise_url(void);

/* Can other processes use the same store? */
bool promise_is_shared(void);

void player_open(struct player *player);
void player_open_for(struct player *player, int ttl_ms); /* others: 2 s */
void player_close(struct player *player);

/* Submit; process once, after waiting up to `ms` for something to do; both, until the
 * answer, which must not take long: returns the status. */
void player_submit(struct player *player, struct request *request);
void player_turn(struct player *player, int ms);
int  player_run(struct player *player, struct request *request);

/* Process until it is answered, or for `ms`. */
bool player_await(struct player *player, const struct request *request, int ms);

/* ---- Other processes -------------------------------------------------------- */

struct child {
    pid_t pid;
    int   talk; /* a socket: each word is a byte */
};

/* Run `body` in a process of its own, which dies with this one.  If `body` finds a fault,
 * it exits with a status other than 0. */
void child_start(struct child *child, void (*body)(struct child *parent));
void child_say(struct child *other);
bool child_hear(struct child *other, int ms);
/* In such a process: enter "x", and say a word. */
void child_take(struct child *parent, struct player *player, struct hf_shape shape,
                struct request *ret);
void child_kill(struct child *child);   /* SIGKILL, and reap */
void child_end(struct child *child);    /* say a word; then it must exit with 0 */
int  child_status(struct child *child); /* wait for its exit */

/* An assert for other processes and threads. */
#define must(condition) \
    ((condition) ? (void)0 : child_fail(__FILE__, __LINE__, #condition))
_Noreturn void child_fail(const char *file, int line, const char *what);

#endif
