/* options.h - the command line. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

struct options {
    const char *listen;  /* HOST:PORT or unix:PATH */
    const char *host;    /* one more accepted host name; or NULL */
    const char *metrics; /* as listen, only for /metrics; or NULL */
    bool        allow_ask;
    bool        allow_break;
};

/* -1: go on; else the exit code. */
int options_read(int argc, char **argv, struct options *ret);

#endif
