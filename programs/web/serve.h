/* serve.h - the HTTP daemons. */
#ifndef SERVE_H
#define SERVE_H

#include "site.h"

/* Serve the page, or only /metrics, on a listening socket.  NULL: cannot start. */
struct MHD_Daemon *serve_pages(struct site *site, int fd);
struct MHD_Daemon *serve_metrics(struct site *site, int fd);

#endif
