/* api.h - what browsers and programs can read; docs/web.md has it for users. */
#ifndef API_H
#define API_H

#include "site.h"

/* GET /api/locks: all rows. */
enum MHD_Result api_locks(struct site *site, struct MHD_Connection *connection);

/* GET /api/locks/NAME: who holds it, and who waits. */
enum MHD_Result api_line(struct site *site, struct MHD_Connection *connection,
                         const char *name);

/* GET /api/history?name=&after=: what happened. */
enum MHD_Result api_history(struct site *site, struct MHD_Connection *connection);

#endif
