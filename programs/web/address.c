/* address.c - see address.h. */
#include "address.h"

#include "log.h"
#include "text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 64

bool address_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family == AF_INET6) {
        const struct in6_addr *in6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(in6) ||
               (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
    }
    return address->sa_family == AF_UNIX;
}

/* ---- A Unix socket -------------------------------------------------------------- */

static int open_unix(const struct sockaddr_un *name)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    mode_t before = umask(0177);
    int    r = bind(fd, (const struct sockaddr *)name, sizeof *name);
    int    why = errno;
    umask(before);
    if (r == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    if (r == 0)
        why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* Is it a socket on which no process listens any more? */
static bool is_stale(const struct sockaddr_un *name)
{
    struct stat status;

    if (lstat(name->sun_path, &status) < 0 || !S_ISSOCK(status.st_mode))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool refused = connect(fd, (const struct sockaddr *)name, sizeof *name) < 0 &&
                   errno == ECONNREFUSED;
    close(fd);
    return refused;
}

static int listen_unix(const char *path, struct address *ret)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    struct stat        status;

    if (*path == '\0' || strlen(path) >= sizeof name.sun_path) {
        log_print("unix:%s: the path must have 1 to %zu bytes", path,
                  sizeof name.sun_path - 1);
        return EXIT_USAGE;
    }
    strcpy(name.sun_path, path);
    int fd = open_unix(&name);
    if (fd < 0 && errno == EADDRINUSE && is_stale(&name) && unlink(path) == 0)
        fd = open_unix(&name);
    if (fd < 0 && errno == EADDRINUSE) {
        log_print(
            "%s exists already: another program listens on it, or it is not a socket",
            path);
        return EXIT_UNAVAILABLE;
    }
    if (fd < 0)
        return log_errno(path);
    *ret = (struct address){ .fd = fd, .is_unix = true, .is_loopback = true };
    if (lstat(path, &status) == 0) {
        ret->device = status.st_dev;
        ret->node = status.st_ino;
    }
    strcpy(ret->path, path);
    snprintf(ret->text, sizeof ret->text, "unix:%s", path);
    return 0;
}

void address_leave(struct address *address)
{
    struct stat status;

    if (address->is_unix && lstat(address->path, &status) == 0 &&
        status.st_dev == address->device && status.st_ino == address->node)
        unlink(address->path);
}

/* ---- TCP -------------------------------------------------------------------------- */

/* HOST and PORT of "HOST:PORT" and "[HOST]:PORT". */
static bool split(const char *where, char host[256], char port[16])
{
    const char *colon = strrchr(where, ':');
    uint64_t    number;

    if (colon == NULL || colon == where || colon[1] == '\0')
        return false;
    size_t length = (size_t)(colon - where);
    if (where[0] == '[' && colon[-1] == ']')
        where++, length -= 2;
    else if (memchr(where, ':', length) != NULL)
        return false;
    if (length == 0 || length >= 256 || strlen(colon + 1) >= 16)
        return false;
    memcpy(host, where, length);
    host[length] = '\0';
    strcpy(port, colon + 1);
    return text_parse_number(port, 0, UINT16_MAX, &number);
}

static int open_tcp(const struct addrinfo *info)
{
    int one = 1;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (info->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static void describe(struct address *address)
{
    struct sockaddr_storage name;
    socklen_t               size = sizeof name;
    char                    host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "0";

    if (getsockname(address->fd, (struct sockaddr *)&name, &size) < 0)
        return;
    address->is_loopback = address_is_loopback((struct sockaddr *)&name);
    getnameinfo((struct sockaddr *)&name, size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    address->port =
        ntohs(name.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&name)->sin6_port
                                         : ((struct sockaddr_in *)&name)->sin_port);
    bool six = name.ss_family == AF_INET6;
    snprintf(address->text, sizeof address->text, "%s%.200s%s:%s", six ? "[" : "", host,
             six ? "]" : "", port);
}

static int listen_tcp(const char *where, struct address *ret)
{
    struct addrinfo  hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
    struct addrinfo *info;
    char             host[256], port[16];

    if (!split(where, host, port)) {
        log_print("\"%s\": expected HOST:PORT, [HOST]:PORT or unix:PATH", where);
        return EXIT_USAGE;
    }
    int r = getaddrinfo(host, port, &hints, &info);
    if (r != 0) {
        log_print("%s: %s", where, gai_strerror(r));
        return EXIT_USAGE;
    }
    *ret = (struct address){ .fd = open_tcp(info) };
    freeaddrinfo(info);
    if (ret->fd < 0) {
        log_print("%s: %s", where, strerror(errno));
        return EXIT_UNAVAILABLE;
    }
    describe(ret);
    return 0;
}

int address_listen(const char *where, struct address *ret)
{
    if (strncmp(where, "unix:", 5) == 0)
        return listen_unix(where + 5, ret);
    return listen_tcp(where, ret);
}
