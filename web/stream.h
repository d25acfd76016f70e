/* stream.h - server-sent events: browsers that are told what changes.
 *
 * A stream sleeps (its connection is suspended) until streams_wake().  Then it is told all
 * that is new since it was told something last, in one message.  So a browser that reads
 * slowly gets fewer and bigger messages, and there is never a queue.
 */
#ifndef STREAM_H
#define STREAM_H

#include "site.h"

#define STREAMS_MAX 64

/* Answer a request for /api/events. */
enum MHD_Result stream_answer(struct site *site, struct MHD_Connection *connection);

/* There is something new. */
void streams_wake(struct site *site);

/* The same for the last time: after that every stream ends. */
void streams_end(struct site *site);

#endif
