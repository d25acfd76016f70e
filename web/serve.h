/* serve.h - requests, and who answers them. */
#ifndef SERVE_H
#define SERVE_H

#include "site.h"

/* Serve the page, or /metrics alone, on a socket that listens.  NULL: it cannot be. */
struct MHD_Daemon *serve_pages(struct site *site, int fd);
struct MHD_Daemon *serve_metrics(struct site *site, int fd);

#endif
