/* local_port.h - a port of 127.0.0.1 that stays reserved while it refuses connections. */
#ifndef HF_TEST_LOCAL_PORT_H
#define HF_TEST_LOCAL_PORT_H

#include <netinet/in.h>
#include <stdbool.h>

struct local_port {
    int                keeper, listener; /* listener -1: it refuses */
    struct sockaddr_in own;
    char               address[32]; /* "127.0.0.1:port" */
};

/* Reserve a free port, and listen.  Accepting does not block. */
void local_port_open(struct local_port *port);
void local_port_close(struct local_port *port);

/* Refuse connections, those in the backlog included; or listen again. */
void local_port_listen(struct local_port *port, bool listen);

/* Accept a connection, and connect to another server, both with TCP_NODELAY.  Or -1. */
int local_port_accept(const struct local_port *port);
int local_port_reach(const struct sockaddr_in *target);

/* "1.2.3.4:5" as an address. */
struct sockaddr_in local_port_parse(const char *text);

#endif
