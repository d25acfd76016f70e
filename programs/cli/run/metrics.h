/* metrics.h - --metrics-file: how a run goes, for Prometheus' textfile collector.
 *
 * The file is about the last run.  It has gauges: a counter that starts again with each
 * run would never be seen to rise.  It is written when the wait begins, when the lock is
 * held and at the end, each time as a whole and by a rename.  docs/metrics.md lists the
 * metrics.  Without --metrics-file these do nothing.
 */
#ifndef METRICS_H
#define METRICS_H

#include "cli_options.h"

#include <holdfast.h>

/* 0, or an exit code after having complained. */
int metrics_open(const struct args *args);

/* The wait begins; the lock is held; all is over, and this is the exit code.  `lock` may
 * be NULL, if there never was one; so may `client`. */
void metrics_waiting(struct hf_client *client);
void metrics_held(struct hf_client *client, struct hf_lock *lock);
void metrics_ended(struct hf_client *client, struct hf_lock *lock, int code);

#endif
