/* live.h - the loop: keys, signals and the store, one after the other. */
#ifndef LIVE_H
#define LIVE_H

#include "eye.h"

/* Signals are polled from now on: before the store is opened, whose threads must not get
 * them.  Negative: errno tells. */
int live_prepare(void);

/* Show it until the user has seen enough.  0, or negative: `error` tells why not. */
int live_show(struct eye *eye, const char *pattern, char *error, size_t size);

/* Die of the signal that ended it, if there was one. */
void live_end(void);

#endif
