/* site.h - the state of the program: one monitor of the store, and its web clients. */
#ifndef SITE_H
#define SITE_H

#include "auth.h"
#include "clients.h"
#include "counts.h"
#include "feed.h"
#include "monitor.h"
#include "options.h"

#include <microhttpd.h>

struct stream;

struct site {
    struct options options;
    struct monitor monitor;
    struct auth    auth;
    struct feed    feed;
    struct counts  counts;
    struct clients clients; /* of both daemons below */
    struct stream *streams; /* browsers that get updates */
    size_t         stream_count;
    uint16_t       port;    /* expected in Host; 0: any */
    int64_t        scraped; /* when metrics were last read, us since 1970; 0: never */
    bool           ending;

    struct MHD_Daemon *pages, *metrics; /* either may be NULL */
    bool               metrics_apart;   /* metrics have their own address */
    bool               metrics_checked; /* and Host is checked there */
};

#endif
