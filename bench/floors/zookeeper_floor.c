/* zookeeper_floor.c - what a ZooKeeper server can do at best, by its bare protocol.
 *
 *     zookeeper_floor HOST:PORT FILE bare|ping
 *
 *     bare    create a node that is tied to the session, and delete it; each is awaited
 *     ping    does the root exist: one round trip
 */
#include "bench/common.h"
#include "bench/scene.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#define TIMEOUT_MS 30000
#define CREATE     1
#define DELETE     2
#define EXISTS     3
#define EPHEMERAL  1
#define ALL_RIGHTS 31

/* A message that is being written, its length in front. */
struct message {
    unsigned char bytes[256];
    size_t        size;
};

struct session {
    int  fd, xid;
    char path[40];
};

static const char *address;

static void put_int(struct message *m, int value)
{
    uint32_t wire = htonl((uint32_t)value);

    memcpy(m->bytes + m->size, &wire, 4);
    m->size += 4;
}

static void put_long(struct message *m, int value)
{
    put_int(m, 0);
    put_int(m, value);
}

static void put_text(struct message *m, const char *text)
{
    size_t length = strlen(text);

    put_int(m, (int)length);
    memcpy(m->bytes + m->size, text, length);
    m->size += length;
}

static void read_all(int fd, void *to, size_t size)
{
    must(recv(fd, to, size, MSG_WAITALL) == (ssize_t)size, "reading");
}

/* Returns the answer's error; of a greeting, which has none, its first word. */
static int ask(struct session *s, struct message *m)
{
    unsigned char answer[1024];
    uint32_t      wire = htonl((uint32_t)(m->size - 4));

    memcpy(m->bytes, &wire, 4);
    must(send(s->fd, m->bytes, m->size, 0) == (ssize_t)m->size, "writing");
    read_all(s->fd, &wire, 4);
    must(ntohl(wire) >= 16 && ntohl(wire) <= sizeof answer, "the length of an answer");
    read_all(s->fd, answer, ntohl(wire));
    memcpy(&wire, answer + (s->xid == 0 ? 0 : 12), 4);
    return (int)ntohl(wire);
}

static struct message request(struct session *s, int what)
{
    struct message m = { .size = 4 };

    put_int(&m, ++s->xid);
    put_int(&m, what);
    put_text(&m, s->path);
    return m;
}

static void greet(struct session *s)
{
    struct message m = { .size = 4 };

    put_int(&m, 0);
    put_long(&m, 0);
    put_int(&m, TIMEOUT_MS);
    put_long(&m, 0);
    put_int(&m, 16); /* an empty password */
    for (int i = 0; i < 4; i++)
        put_int(&m, 0);
    m.bytes[m.size++] = 0; /* not read-only */
    must(ask(s, &m) == 0, "greeting");
}

static struct session *connect_to(void)
{
    struct session    *s = calloc(1, sizeof *s);
    const char        *colon = strrchr(address, ':');
    struct sockaddr_in to = { .sin_family = AF_INET };
    int                on = 1;

    must(s != NULL && colon != NULL, "an address");
    to.sin_port = htons((uint16_t)atoi(colon + 1));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(s->fd >= 0 && connect(s->fd, (struct sockaddr *)&to, sizeof to) == 0,
         "connecting");
    setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    greet(s);
    return s;
}

static void *join(const struct seat *seat)
{
    static struct session *sessions[SCENE_SESSIONS];

    must(seat->session < SCENE_SESSIONS, "so many sessions");
    if (sessions[seat->session] == NULL)
        sessions[seat->session] = connect_to();
    struct session *s = sessions[seat->session];
    snprintf(s->path, sizeof s->path, "/floor-%s", seat->lock);
    return s;
}

static void leave(void *me)
{
    (void)me;
}

static void create(void *me, bool write)
{
    struct message m = request(me, CREATE);

    (void)write;
    put_text(&m, "");
    put_int(&m, 1); /* one right: all of them to all */
    put_int(&m, ALL_RIGHTS);
    put_text(&m, "world");
    put_text(&m, "anyone");
    put_int(&m, EPHEMERAL);
    must(ask(me, &m) == 0, "create");
}

static void delete (void *me, bool write)
{
    struct message m = request(me, DELETE);

    (void)write;
    put_int(&m, -1);
    must(ask(me, &m) == 0, "delete");
}

static void exists(void *me, bool write)
{
    struct session *s = me;

    (void)write;
    snprintf(s->path, sizeof s->path, "/");
    struct message m = request(s, EXISTS);
    m.bytes[m.size++] = 0; /* no watch */
    must(ask(s, &m) == 0, "exists");
}

static void nothing(void *me, bool write)
{
    (void)me;
    (void)write;
}

static const struct way bare_way = { join, create, delete, leave, NULL };
static const struct way ping_way = { join, exists, nothing, leave, NULL };

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: %s HOST:PORT FILE bare|ping\n", argv[0]);
        return 2;
    }
    address = argv[1];
    return scene_main(strcmp(argv[3], "ping") == 0 ? &ping_way : &bare_way, argv[2]);
}
