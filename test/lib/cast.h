/* cast.h - four players, for promise tests that need no more. */
#ifndef HF_TEST_CAST_H
#define HF_TEST_CAST_H

#include "lib/promise.h"

extern struct player a, b, c, d;

/* As cmocka's setup and teardown. */
int open_all(void **state);
int close_all(void **state);

/* Watch, as a hold does, until there is news: the view is that then.  A watch that fires
 * although nothing is different is submitted again.  False if it takes longer than 10 s. */
bool hears(struct player *player, const char *name, struct ask *view,
           struct ask *watching);

/* The same until granted. */
bool comes_true(struct player *player, const char *name, struct ask *view,
                struct ask *watching);

#endif
