/* local_port.c - see local_port.h. */
#include "lib/local_port.h"

#include "base/random.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static int tcp_socket(int more)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | more, 0);

    assert(fd >= 0);
    return fd;
}

static void allow_reuse(int fd)
{
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
}

static int bind_to(int fd, const struct sockaddr_in *at)
{
    return bind(fd, (const struct sockaddr *)at, sizeof *at);
}

/* The port is shared only with sockets that ask for it.  It is not one that the kernel
 * gives to outgoing connections: a client that retries while we refuse could connect to
 * itself. */
void local_port_open(struct local_port *port)
{
    int r = -1;

    *port = (struct local_port){ .listener = -1, .own = { .sin_family = AF_INET } };
    port->own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    port->keeper = tcp_socket(0);
    for (int i = 0; i < 1000 && r < 0; i++) {
        port->own.sin_port = htons((uint16_t)(12000 + hf_random() % 20000));
        r = bind_to(port->keeper, &port->own);
    }
    assert(r == 0);
    allow_reuse(port->keeper);
    snprintf(port->address, sizeof port->address, "127.0.0.1:%u",
             ntohs(port->own.sin_port));
    local_port_listen(port, true);
}

void local_port_close(struct local_port *port)
{
    local_port_listen(port, false);
    close(port->keeper);
}

void local_port_listen(struct local_port *port, bool listening)
{
    if (listening == (port->listener >= 0))
        return;
    if (!listening) {
        shutdown(port->listener, SHUT_RDWR); /* now, though another thread polls it */
        close(port->listener);
        port->listener = -1;
        return;
    }
    int fd = tcp_socket(SOCK_NONBLOCK);
    allow_reuse(fd);
    int r = bind_to(fd, &port->own);
    assert(r == 0);
    r = listen(fd, 128);
    assert(r == 0);
    port->listener = fd;
}

static int without_delay(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    return fd;
}

int local_port_accept(const struct local_port *port)
{
    int fd = accept4(port->listener, NULL, NULL, SOCK_CLOEXEC);

    return fd < 0 ? -1 : without_delay(fd);
}

int local_port_reach(const struct sockaddr_in *target)
{
    int fd = tcp_socket(0);

    if (connect(fd, (const struct sockaddr *)target, sizeof *target) == 0)
        return without_delay(fd);
    close(fd);
    return -1;
}

struct sockaddr_in local_port_parse(const char *text)
{
    char               host[INET_ADDRSTRLEN];
    unsigned           number = 0;
    struct sockaddr_in ret = { .sin_family = AF_INET };

    int fields = sscanf(text, "%15[0-9.]:%u", host, &number);
    assert(fields == 2);
    ret.sin_port = htons((uint16_t)number);
    int r = inet_pton(AF_INET, host, &ret.sin_addr);
    assert(r == 1);
    return ret;
}
