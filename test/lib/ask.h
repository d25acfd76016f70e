/* ask.h - what a player asks of a store, and what the answer says.
 *
 * Tests do not read answers themselves, except the list of LIST: they ask here for what
 * an answer says of their place.  So one file knows what requests and answers look like.
 */
#ifndef HF_TEST_ASK_H
#define HF_TEST_ASK_H

#include "store/store.h"

#define SEEN_MAX 64

struct player;

extern const struct hf_shape MUTEX, READER, WRITER, CLAIM;
struct hf_shape              semaphore(uint32_t capacity, uint32_t weight);

/* What an answer to ENTER, AMEND or a look says of the own place.  Read it by is_granted()
 * and the like. */
struct view {
    struct hf_standing standing;
    char               asked[HF_ERRMSG_MAX];
};

/* A request, and a copy of its answer. */
struct ask {
    struct hf_req    req;
    unsigned         answers;        /* how often done() was called */
    struct hf_ticket seen[SEEN_MAX]; /* LIST */
    char             text[SEEN_MAX][2][64];
    size_t           count;
    struct view      view;
};

/* done() of every ask: copies the answer. */
void ask_answered(struct hf_req *req);

/* ---- What an answer says ----------------------------------------------------- */

/* Of ENTER, AMEND or a look.  What they tell of a place is known only while there is
 * one: else the test fails. */
bool     has_place(const struct ask *ask);
bool     is_granted(const struct ask *ask);
uint64_t token_of(const struct ask *ask);
uint32_t weight_of(const struct ask *ask);
int      slot_of(const struct ask *ask);  /* -1: none */
uint64_t ahead_of(const struct ask *ask); /* places ahead of a waiter; 0 for a holder */
const char *asked_of(
    const struct ask *ask); /* why somebody asks for it; NULL: nobody does */

/* Of ENTER that was to be granted at once: was the lock taken? */
bool is_refused(const struct ask *ask);

/* What BREAK, ASK and a watch from outside call a place: the own one, the one that an
 * ENTER was refused for, and one that LIST shows. */
uint64_t place_of(const struct ask *ask);
uint64_t place_in_the_way(const struct ask *refused);
uint64_t place_listed(const struct hf_ticket *ticket);

/* Does the place at index `i` of what LIST shows hold the lock, by the rule? */
bool is_held(const struct ask *list, size_t i);

/* ---- Requests ---------------------------------------------------------------- */

/* Each again if HF_EDOWN is the answer.  enter() returns the id, and a claim may be
 * refused; look() looks at the own place. */
uint64_t enter(struct player *player, const char *name, struct hf_shape shape,
               struct ask *ret);
int      look(struct player *player, const char *name, uint64_t id, struct ask *ret);
int      leave(struct player *player, const char *name, uint64_t id);
int      list(struct player *player, const char *name, struct ask *ret);
int      take_away(struct player *player, const char *name, uint64_t place);
int amend(struct player *player, const char *name, uint64_t id, struct hf_shape shape,
          struct ask *ret);
int ask_for(struct player *player, const char *name, uint64_t place, const char *why);

/* PROVE, once: the own place by its id, anybody's by its token. */
int prove(struct player *player, const char *name, uint64_t id);
int prove_token(struct player *player, const char *name, uint64_t token);

/* The length of a line. */
size_t length(struct player *player, const char *name);

/* Submit a WATCH and turn once:
 *   watch()        until the own place, as `view` shows it, may be granted; the place of a
 *                  holder, until it is gone or asked for
 *   follow()       the same, and until the number of places ahead may be another
 *   watch_place()  from outside, until that place has left; `view` shows it, or is NULL
 *   watch_line()   from outside, until the line is not what LIST showed any more */
void watch(struct player *player, const char *name, const struct ask *view,
           struct ask *ret);
void follow(struct player *player, const char *name, const struct ask *view,
            struct ask *ret);
void watch_place(struct player *player, const char *name, const struct ask *view,
                 uint64_t place, struct ask *ret);
void watch_line(struct player *player, const char *name, const struct ask *listed,
                struct ask *ret);

/* The requests of these, not yet submitted; they stay where they are. */
void to_look(struct ask *ret, const char *name, uint64_t id);
void to_watch(struct ask *ret, const char *name, const struct ask *view);
void to_watch_place(struct ask *ret, const char *name, const struct ask *view,
                    uint64_t place);

/* Say which place a BREAK or an ASK is about. */
void name_place(struct hf_req *req, uint64_t place);

/* What a WATCH of the own place answered becomes the view.  Is it any news? */
bool take_news(struct ask *view, const struct ask *answer);

/* End a WATCH that may be in flight: a request has to stay in place until it is answered. */
void end_watch(struct player *player, struct ask *ask);

/* Watch again and again until it is our turn.  False if that takes over `ms`. */
bool wait_for_turn(struct player *player, const char *name, struct ask *view, int ms);

#endif
