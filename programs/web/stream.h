/* stream.h - server-sent events for browsers.
 *
 * A stream sleeps (its connection is suspended) until streams_wake().  Then it sends everything that
 * is new since its last message, in one message.  So a browser that reads slowly gets fewer and bigger
 * messages, and there is never a backlog.
 */
#ifndef STREAM_H
#define STREAM_H

#include "site.h"

#define STREAMS_MAX 64

/* Answer a request for /api/events. */
enum MHD_Result stream_answer(struct site *site, struct MHD_Connection *connection);

/* There is something new. */
void streams_wake(struct site *site);

/* End all streams. */
void streams_end(struct site *site);

#endif
