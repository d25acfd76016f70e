/* request.h - requests of a player to its store, and their answers.
 *
 * Only this file knows the layout of requests and answers: tests read an answer by the
 * functions below, except for the places of LIST.
 */
#ifndef HF_TEST_REQUEST_H
#define HF_TEST_REQUEST_H

#include "store/store.h"

#define SEEN_MAX 64

struct player;

extern const struct hf_shape MUTEX, READER, WRITER, CLAIM;
struct hf_shape              semaphore(uint32_t capacity, uint32_t weight);

/* The state of our own place, from an answer to ENTER, DOWNGRADE or a look.  See
 * is_granted() and so on. */
struct view {
    struct hf_standing standing;
    char               asked[HF_ERRMSG_MAX];
};

/* A request, and a copy of its answer. */
struct request {
    struct hf_req   req;
    unsigned        answers;        /* calls of done() */
    struct hf_place seen[SEEN_MAX]; /* LIST */
    char            text[SEEN_MAX][2][64];
    size_t          count;
    struct view     view;
};

/* done() of every request: copies the answer. */
void request_answered(struct hf_req *req);

/* ---- Answers ----------------------------------------------------------------- */

/* Of ENTER, DOWNGRADE or a look.  All but has_place() fail the test if there is no
 * place. */
bool     has_place(const struct request *request);
bool     is_granted(const struct request *request);
uint64_t token_of(const struct request *request);
uint32_t weight_of(const struct request *request);
int      slot_of(const struct request *request); /* -1: none */
uint64_t ahead_of(
    const struct request *request); /* places ahead of a waiter; 0 for a holder */
const char *asked_of(const struct request *request); /* reason of an ASK; NULL: none */

/* Of an ENTER that must not wait: is the lock held by another? */
bool is_refused(const struct request *request);

/* The number of a place for BREAK, ASK and a watch from outside: of our own place, of the
 * place that blocks a refused ENTER, of a place in a LIST. */
uint64_t place_of(const struct request *request);
uint64_t place_in_the_way(const struct request *refused);
uint64_t place_listed(const struct hf_place *place);

/* Does the place at index `i` of a LIST hold the lock, by the rule? */
bool is_held(const struct request *list, size_t i);

/* ---- Requests ---------------------------------------------------------------- */

/* Each is repeated while the answer is HF_EDOWN.  enter() returns the id; a claim may be
 * refused. look() reads our own place. */
uint64_t enter(struct player *player, const char *name, struct hf_shape shape,
               struct request *ret);
int      look(struct player *player, const char *name, uint64_t id, struct request *ret);
int      leave(struct player *player, const char *name, uint64_t id);
int      list(struct player *player, const char *name, struct request *ret);
int      take_away(struct player *player, const char *name, uint64_t place);
int downgrade(struct player *player, const char *name, uint64_t id, struct hf_shape shape,
              struct request *ret);
int ask_for(struct player *player, const char *name, uint64_t place, const char *why);

/* VERIFY, once: of our own place by its id, of any place by its token. */
int verify(struct player *player, const char *name, uint64_t id);
int verify_token(struct player *player, const char *name, uint64_t token);

/* The length of a queue. */
size_t length(struct player *player, const char *name);

/* Submit a WATCH and process once.  It is answered when
 *   watch()        our own place, as in `view`, is granted, removed, or asked for
 *   follow()       the same, or the number of places ahead changes
 *   watch_place()  from outside: that place leaves; `view` shows it, or is NULL
 *   watch_line()   from outside: the queue differs from that LIST */
void watch(struct player *player, const char *name, const struct request *view,
           struct request *ret);
void follow(struct player *player, const char *name, const struct request *view,
            struct request *ret);
void watch_place(struct player *player, const char *name, const struct request *view,
                 uint64_t place, struct request *ret);
void watch_line(struct player *player, const char *name, const struct request *listed,
                struct request *ret);

/* The same requests, not submitted yet.  Do not move or copy them. */
void to_look(struct request *ret, const char *name, uint64_t id);
void to_watch(struct request *ret, const char *name, const struct request *view);
void to_watch_place(struct request *ret, const char *name, const struct request *view,
                    uint64_t place);

/* Set the place of a BREAK or an ASK. */
void name_place(struct hf_req *req, uint64_t place);

/* Copy the answer of a WATCH to `view`.  Does it differ? */
bool take_news(struct request *view, const struct request *answer);

/* Cancel a WATCH that may be in flight, and wait for its answer. */
void end_watch(struct player *player, struct request *request);

/* Watch until granted.  False if that takes over `ms`. */
bool wait_for_turn(struct player *player, const char *name, struct request *view, int ms);

#endif
