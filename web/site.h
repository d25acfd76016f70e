/* site.h - all that the program has: one eye on the store, and who looks through it. */
#ifndef SITE_H
#define SITE_H

#include "counts.h"
#include "door.h"
#include "eye.h"
#include "feed.h"
#include "guests.h"
#include "options.h"

#include <microhttpd.h>

struct stream;

struct site {
    struct options options;
    struct eye     eye;
    struct door    door;
    struct feed    feed;
    struct counts  counts;
    struct guests  guests;  /* of both servers below */
    struct stream *streams; /* browsers that are told what changes */
    size_t         stream_count;
    uint16_t       port; /* that must stand in Host; 0: any */
    int64_t scraped;     /* when metrics were asked for last, us since 1970; 0: never */
    bool    ending;

    struct MHD_Daemon *pages, *metrics; /* either may be NULL */
    bool               metrics_apart;   /* they have an address of their own */
    bool               metrics_checked; /* and Host is looked at there */
};

#endif
