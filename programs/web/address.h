/* address.h - an address to listen on: HOST:PORT, [HOST]:PORT or unix:PATH. */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/un.h>

struct address {
    int      fd;
    bool     is_unix;
    bool     is_loopback; /* not reachable from other machines; true for a Unix socket */
    uint16_t port;        /* 0: a Unix socket */
    char     text[300];   /* "127.0.0.1:7171", "[::1]:7171", "unix:/run/x" */
    char     path[sizeof((struct sockaddr_un *)NULL)->sun_path];
    dev_t    device; /* of the Unix socket */
    ino_t    node;
};

/* Listen on that address.  A Unix socket gets mode 0600, and replaces one that a dead process left.
 * 0, or an exit code after printing the reason. */
int address_listen(const char *where, struct address *ret);

/* Removes the Unix socket if it is still ours.  Does not close the descriptor. */
void address_leave(struct address *address);

/* Is it a loopback address, or a Unix socket? */
struct sockaddr;
bool address_is_loopback(const struct sockaddr *address);

#endif
