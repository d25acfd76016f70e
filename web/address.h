/* address.h - where we listen: HOST:PORT, [HOST]:PORT or unix:PATH. */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/un.h>

struct address {
    int      fd;
    bool     is_unix;
    bool     is_loopback; /* nobody reaches it from outside; a Unix socket as well */
    uint16_t port;        /* 0 of a Unix socket */
    char     text[300];   /* "127.0.0.1:7171", "[::1]:7171", "unix:/run/x" */
    char     path[sizeof((struct sockaddr_un *)NULL)->sun_path];
    dev_t    device; /* of the Unix socket */
    ino_t    node;
};

/* Listen there.  A Unix socket is 0600; one that a dead process left is replaced.  0, or an
 * exit code after having said why. */
int address_listen(const char *where, struct address *ret);

/* Removes the Unix socket if it is still ours.  The descriptor is not closed. */
void address_leave(struct address *address);

/* Is this an address of the machine itself? */
struct sockaddr;
bool address_is_loopback(const struct sockaddr *address);

#endif
