/* promise.h - what the promise tests share: stores driven by hand.
 *
 * A player is one opened store, that is one session.  Every test plays with
 * several of them on the URL given as the first argument or in HF_TEST_URL, and
 * with processes of their own where a store is shared by processes.
 *
 * Lines are named after the test, so that tests do not meet.
 */
#ifndef HF_TEST_PROMISE_H
#define HF_TEST_PROMISE_H

#include "lib/ask.h"

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

/* Take the URL; to be called first.  Or name one, kept by the caller. */
void        promise_start(int argc, char **argv);
void        promise_use(const char *text);
const char *promise_url(void);

/* Can other processes use the same store? */
bool promise_is_shared(void);

void player_open(struct player *player);
void player_open_for(struct player *player, int ttl_ms); /* else it is 2 s */
void player_close(struct player *player);

/* Submit; process once, waiting up to `ms` for something to do; and both until
 * it is answered, which must not take long.  Returns the status. */
void player_submit(struct player *player, struct ask *ask);
void player_turn(struct player *player, int ms);
int  player_run(struct player *player, struct ask *ask);

/* Turn until it is answered, or for `ms`. */
bool player_await(struct player *player, const struct ask *ask, int ms);

/* ---- Other processes -------------------------------------------------------- */

struct child {
    pid_t pid;
    int   talk; /* a socket: one byte is one word said */
};

/* Runs `body` in a process of its own, which dies with this one.  What `body`
 * finds wrong it says by ending with another status than 0. */
void child_start(struct child *child, void (*body)(struct child *parent));
void child_say(struct child *other);
bool child_hear(struct child *other, int ms);
/* In such a process: take "x", and say so. */
void child_take(struct child *parent, struct player *player, struct hf_shape shape,
                struct ask *ret);
void child_kill(struct child *child);   /* SIGKILL, and reap */
void child_end(struct child *child);    /* say a word, then it must end well */
int  child_status(struct child *child); /* wait until it ends */

/* For what runs in another process, or thread. */
#define must(condition) \
    ((condition) ? (void)0 : child_fail(__FILE__, __LINE__, #condition))
_Noreturn void child_fail(const char *file, int line, const char *what);

#endif
