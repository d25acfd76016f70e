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

#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

#include <cmocka.h>

#define SEEN_MAX 64

extern const struct hf_shape MUTEX, READER, WRITER, CLAIM;
struct hf_shape              semaphore(uint32_t capacity, uint32_t weight);

struct player {
    struct hf_store *store;
    uint64_t         ids;
    int              lost; /* how often the link was lost */
};

/* A request, and a copy of its answer. */
struct ask {
    struct hf_req    req;
    unsigned         answers; /* how often done() was called */
    struct hf_ticket seen[SEEN_MAX];
    char             text[SEEN_MAX][3][64];
    size_t           count;
    uint64_t         seqs[SEEN_MAX]; /* of a WATCH */
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

/* The usual requests, again if HF_EDOWN is the answer.  enter() returns the id. */
uint64_t enter(struct player *player, const char *name, struct hf_shape shape,
               struct ask *ret);
int      look(struct player *player, const char *name, uint64_t id, struct ask *ret);
int      leave(struct player *player, const char *name, uint64_t id);
int      list(struct player *player, const char *name, struct ask *ret);
int      take_away(struct player *player, const char *name, uint64_t seq);
int amend(struct player *player, const char *name, uint64_t id, struct hf_shape shape,
          struct ask *ret);
int ask_for(struct player *player, const char *name, uint64_t seq, const char *why);

/* PROVE, once: the own place by its id, anybody's by its token. */
int prove(struct player *player, const char *name, uint64_t id);
int prove_token(struct player *player, const char *name, uint64_t token);

/* The length of a line. */
size_t length(struct player *player, const char *name);

/* Of an answer to ENTER or READ: are we in line, and is it our turn? */
bool                    is_in_line(const struct ask *ask);
bool                    is_granted(const struct ask *ask);
const struct hf_ticket *my_ticket(const struct ask *ask);

/* WATCH what stands in the way according to `view`, or the own ticket; or
 * any change. */
void watch(struct player *player, const char *name, const struct ask *view,
           struct ask *ret);
void watch_any(struct player *player, const char *name, const struct ask *view,
               struct ask *ret);

/* Watch and look again until it is our turn.  False if that takes over `ms`. */
bool wait_for_turn(struct player *player, const char *name, struct ask *view, int ms);

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
