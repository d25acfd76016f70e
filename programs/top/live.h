/* live.h - the event loop for keys, signals and the store. */
#ifndef LIVE_H
#define LIVE_H

#include "monitor.h"

/* Block signals and poll for them.  Call it before you open the store, so that its threads do
 * not get them.  Negative: see errno. */
int live_prepare(void);

/* Show the locks until the user quits.  0, or negative with the reason in `error`. */
int live_show(struct monitor *monitor, const char *pattern, char *error, size_t size);

/* If a signal ended the loop, die of it. */
void live_end(void);

#endif
