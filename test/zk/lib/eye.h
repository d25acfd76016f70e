/* eye.h - a player that surveys. */
#ifndef HF_TEST_ZK_EYE_H
#define HF_TEST_ZK_EYE_H

#include "lib/promise.h"

#define LIMIT_MS  20000
#define EYE_NAMES 300

/* A client that surveys, and what it was told last. */
struct eye {
    struct player player;
    struct hf_req req;
    unsigned      answers;
    char          name[EYE_NAMES][64];
    size_t        count;
};

/* A player at this URL, connected; the same as an eye, after its first SURVEY and LIST. */
void eye_player(struct player *player, const char *url);
void eye_open(struct eye *eye, const char *url);

/* Begin a SURVEY; is it answered within `ms`?  Give it up; both ends at once. */
void eye_start(struct eye *eye);
bool eye_await(struct eye *eye, int ms);
void eye_cancel(struct eye *eye);
void eye_look(struct eye *eye);

/* These lines are told, in one answer or several; some of before may be among them. */
void eye_assert_told(struct eye *eye, const char *names);

#endif
