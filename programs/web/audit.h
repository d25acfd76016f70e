/* audit.h - logs every change that a client makes: on stderr, and in the journal by syslog. */
#ifndef AUDIT_H
#define AUDIT_H

#include <microhttpd.h>

#define AUDIT_WHO_MAX 160

/* The client: "127.0.0.1 port 40312", or "uid 1000 (ana) pid 4242" on a Unix socket. */
const char *audit_who(struct MHD_Connection *connection, char out[AUDIT_WHO_MAX]);

struct audit {
    const char *what; /* "break", "ask" */
    const char *who;
    const char *name;   /* of the lock */
    const char *token;  /* "": none in particular */
    const char *holder; /* "": not known */
    const char *reason;
    int         result; /* 0 or more, or HF_E... */
};

void audit_write(const struct audit *audit);

#endif
