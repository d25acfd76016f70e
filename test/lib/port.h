/* port.h - a port of 127.0.0.1 that stays ours also while nobody listens there. */
#ifndef HF_TEST_PORT_H
#define HF_TEST_PORT_H

#include <netinet/in.h>
#include <stdbool.h>

struct port {
    int                keeper, listener; /* the latter -1 while it refuses */
    struct sockaddr_in own;
    char               address[32]; /* "127.0.0.1:port" */
};

/* Take one that nobody has, and listen.  Accepting does not block. */
void port_open(struct port *port);
void port_close(struct port *port);

/* Refuse connections, those too that were not accepted yet; or listen again. */
void port_listen(struct port *port, bool listen);

/* Take a connection that waits there, and connect to somebody else; what is sent goes out at
 * once.  Or -1. */
int port_accept(const struct port *port);
int port_reach(const struct sockaddr_in *target);

/* "1.2.3.4:5" as an address. */
struct sockaddr_in port_parse(const char *text);

#endif
