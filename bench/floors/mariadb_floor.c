/* mariadb_floor.c - the best that a MariaDB server can do, by its bare protocol.
 *
 *     mariadb_floor HOST:PORT|SOCKET FILE updates|getlock|select
 *
 *     updates   two UPDATEs of one row, each committed with the server's settings
 *     getlock   GET_LOCK(), RELEASE_LOCK(), which write nothing
 *     select    SELECT 1: one round trip
 *
 * The user "bench" has no password, and the database is "test".
 */
#include "bench/common.h"
#include "bench/scene.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAD    4
#define PACKET  4096 /* of what we ask for, all answers are smaller */
#define QUERY   3
#define IS_OK   0x00
#define IS_END  0xfe
#define IS_FAIL 0xff

struct link {
    int           fd;
    unsigned char packet[PACKET]; /* the last one that was read */
    size_t        size;
    char          lock[80], unlock[80];
};

static const char *address;

/* ---- Packets ------------------------------------------------------------------------------- */

static void read_all(int fd, unsigned char *ret, size_t size)
{
    while (size > 0) {
        ssize_t n = read(fd, ret, size);
        if (n < 0 && errno == EINTR)
            continue;
        must(n > 0, "reading from MariaDB");
        ret += n;
        size -= (size_t)n;
    }
}

static unsigned char read_packet(struct link *l)
{
    unsigned char head[HEAD];

    read_all(l->fd, head, sizeof head);
    l->size = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
    must(l->size > 0 && l->size < sizeof l->packet, "an answer of MariaDB");
    read_all(l->fd, l->packet, l->size);
    l->packet[l->size] = '\0';
    if (l->packet[0] == IS_FAIL) {
        fprintf(stderr, "bench: MariaDB: %s\n", (char *)l->packet + 3);
        exit(1);
    }
    return l->packet[0];
}

static void send_packet(struct link *l, unsigned number, const void *bytes, size_t size)
{
    unsigned char packet[HEAD + 256];

    must(size <= sizeof packet - HEAD, "so long a packet");
    packet[0] = (unsigned char)size;
    packet[1] = (unsigned char)(size >> 8);
    packet[2] = 0;
    packet[3] = (unsigned char)number;
    memcpy(packet + HEAD, bytes, size);
    must(write(l->fd, packet, HEAD + size) == (ssize_t)(HEAD + size),
         "writing to MariaDB");
}

/* The first byte of the only value; 0: there are no rows. */
static unsigned char query(struct link *l, const char *text)
{
    unsigned char ask[200] = { QUERY }, value = 0;
    size_t        size = strlen(text);

    must(size < sizeof ask, "so long a query");
    memcpy(ask + 1, text, size);
    send_packet(l, 0, ask, 1 + size);
    if (read_packet(l) == IS_OK)
        return 0;
    for (int ends = 0;
         ends < 2;) { /* one column, the end of columns, one row, the end of rows */
        if (read_packet(l) == IS_END && l->size < 9)
            ends++;
        else if (ends == 1)
            value = l->packet[1];
    }
    return value;
}

/* ---- A connection -------------------------------------------------------------------------- */

static int connect_unix(void)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%s", address);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0, "connecting");
    return fd;
}

static int connect_tcp(void)
{
    struct addrinfo  hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    char             host[200];
    const char      *colon = strrchr(address, ':');
    static const int on = 1;

    must(colon != NULL && (size_t)(colon - address) < sizeof host, "HOST:PORT");
    snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
    must(getaddrinfo(host, colon + 1, &hints, &found) == 0, "finding the host");
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0, "connecting");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    freeaddrinfo(found);
    return fd;
}

static void log_in(struct link *l)
{
    /* PROTOCOL_41, CONNECT_WITH_DB, SECURE_CONNECTION, PLUGIN_AUTH; utf8mb4 */
    static const char answer[] = "\x09\x82\x08\x00"
                                 "\x00\x00\x00\x01\x2d"
                                 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                 "bench\0"
                                 "\0" /* no password */
                                 "test\0"
                                 "mysql_native_password";

    l->fd = address[0] == '/' ? connect_unix() : connect_tcp();
    read_packet(l); /* the greeting */
    send_packet(l, 1, answer, sizeof answer);
    must(read_packet(l) == IS_OK, "logging in");
}

/* ---- The scenarios ------------------------------------------------------------------------- */

static void *join(const struct seat *seat)
{
    static struct link *links[SCENE_SESSIONS];

    must(seat->session < SCENE_SESSIONS, "so many sessions");
    struct link *l = links[seat->session];
    if (l == NULL) {
        l = links[seat->session] = calloc(1, sizeof *l);
        must(l != NULL, "memory");
        log_in(l);
    }
    snprintf(l->lock, sizeof l->lock, "SELECT GET_LOCK('%s', 20)", seat->lock);
    snprintf(l->unlock, sizeof l->unlock, "SELECT RELEASE_LOCK('%s')", seat->lock);
    return l;
}

static void leave(void *me)
{
    (void)me;
}

static void update(void *me, bool write)
{
    (void)write;
    query(me, "UPDATE bench SET n = n + 1");
}

static void select_one(void *me, bool write)
{
    (void)write;
    must(query(me, "SELECT 1") == '1', "SELECT 1");
}

static void nothing(void *me, bool write)
{
    (void)me;
    (void)write;
}

static void lock(void *me, bool write)
{
    struct link *l = me;

    (void)write; /* there are no readers */
    must(query(l, l->lock) == '1', "GET_LOCK()");
}

static void unlock(void *me, bool write)
{
    struct link *l = me;

    (void)write;
    must(query(l, l->unlock) == '1', "RELEASE_LOCK()");
}

static const struct {
    const char *name;
    struct way  way;
} ways[] = {
    { "updates", { join, update, update, leave, NULL, true } },
    { "getlock", { join, lock, unlock, leave, NULL, true } },
    { "select", { join, select_one, nothing, leave, NULL, true } },
};

int main(int argc, char **argv)
{
    size_t i = 0, count = sizeof ways / sizeof ways[0];

    while (argc == 4 && i < count && strcmp(argv[3], ways[i].name) != 0)
        i++;
    if (argc != 4 || i == count) {
        fprintf(stderr, "usage: %s HOST:PORT|SOCKET FILE WHAT\n", argv[0]);
        return 2;
    }
    address = argv[1];
    return scene_main(&ways[i].way, argv[2]);
}
