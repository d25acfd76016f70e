/* four_players.h - four players, for promise tests that need no more. */
#ifndef HF_TEST_FOUR_PLAYERS_H
#define HF_TEST_FOUR_PLAYERS_H

#include "lib/promise.h"

extern struct player a, b, c, d;

/* As cmocka's setup and teardown. */
int open_all(void **state);
int close_all(void **state);

/* Watch, as a hold does, until the answer differs from `view`, which becomes that answer.
 * A watch that fires without a difference is submitted again.  False: none within 10
 * s. */
bool await_news(struct player *player, const char *name, struct request *view,
                struct request *watching);

/* The same, until granted. */
bool await_grant(struct player *player, const char *name, struct request *view,
                 struct request *watching);

#endif
