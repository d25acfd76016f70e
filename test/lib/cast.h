/* cast.h - four players, for promise tests that need no more. */
#ifndef HF_TEST_CAST_H
#define HF_TEST_CAST_H

#include "lib/promise.h"

extern struct player a, b, c, d;

/* As cmocka's setup and teardown. */
int open_all(void **state);
int close_all(void **state);

/* Watch and look, as a hold does, until granted: a watch that fires too early is
 * looked behind.  False if that takes longer than 10 s. */
bool comes_true(struct player *player, const char *name, struct ask *view,
                struct ask *watching);

#endif
