/* api.h - requests that read; docs/web.md documents them. */
#ifndef API_H
#define API_H

#include "site.h"

/* GET /api/locks: all rows. */
enum MHD_Result api_locks(struct site *site, struct MHD_Connection *connection);

/* GET /api/locks/NAME: its holders and waiters. */
enum MHD_Result api_lock(struct site *site, struct MHD_Connection *connection,
                         const char *name);

/* GET /api/history?name=&after= */
enum MHD_Result api_history(struct site *site, struct MHD_Connection *connection);

#endif
