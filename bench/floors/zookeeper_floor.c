/* zookeeper_floor.c - the best that a ZooKeeper server can do, by its bare protocol.
 *
 *     zookeeper_floor HOST:PORT FILE bare|ping|list
 *
 *     bare    create an ephemeral node and delete it, awaiting both answers
 *     ping    does the root exist: one round trip
 *     list    S8 only: getChildren of a node with so many, named as by Curator
 */
#include "bench/common.h"
#include "bench/scene.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_MS 900000 /* an idle session sends no heartbeats meanwhile */
#define CREATE     1
#define DELETE     2
#define EXISTS     3
#define CHILDREN   8
#define EPHEMERAL  1
#define SEQUENTIAL 2
#define ALL_RIGHTS 31

/* A message that is being written, its length in front. */
struct message {
    unsigned char bytes[256];
    size_t        size;
};

struct session {
    int           fd, xid;
    char          path[96];
    unsigned char answer[1024 * 1024]; /* 10,000 names fit */
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

/* Returns the error in the answer; for the handshake, which has none, its first word. */
static int ask(struct session *s, struct message *m)
{
    uint32_t wire = htonl((uint32_t)(m->size - 4));

    memcpy(m->bytes, &wire, 4);
    must(send(s->fd, m->bytes, m->size, 0) == (ssize_t)m->size, "writing");
    read_all(s->fd, &wire, 4);
    must(ntohl(wire) >= 16 && ntohl(wire) <= sizeof s->answer, "the length of an answer");
    read_all(s->fd, s->answer, ntohl(wire));
    memcpy(&wire, s->answer + (s->xid == 0 ? 0 : 12), 4);
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

static void create_node(struct session *s, int flags)
{
    struct message m = request(s, CREATE);

    put_text(&m, "");
    put_int(&m, 1); /* one ACL entry: everything for everybody */
    put_int(&m, ALL_RIGHTS);
    put_text(&m, "world");
    put_text(&m, "anyone");
    put_int(&m, flags);
    must(ask(s, &m) == 0, "create");
}

static void create(void *me, bool write)
{
    (void)write;
    create_node(me, EPHEMERAL);
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

/* ---- A long queue ------------------------------------------------------------------------- */

static void remove_line(struct session *s, const char *folder, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(s->path, sizeof s->path, "%s/_c_%032d-lock-%010zu", folder, 0, i);
        delete (s, true);
    }
    snprintf(s->path, sizeof s->path, "%s", folder);
    delete (s, true);
}

static unsigned long play_list(const struct scene *scene, double size, double *seconds)
{
    static struct session *s;
    static unsigned        number;
    char                   folder[32];

    if (s == NULL)
        s = connect_to();
    snprintf(folder, sizeof folder, "/list-%d-%u", (int)getpid(), number++);
    snprintf(s->path, sizeof s->path, "%s", folder);
    create_node(s, 0);
    snprintf(s->path, sizeof s->path, "%s/_c_%032d-lock-", folder, 0);
    for (size_t i = 0; i < scene->count; i++)
        create_node(s, EPHEMERAL | SEQUENTIAL);
    snprintf(s->path, sizeof s->path, "%s", folder);
    scene_mark();
    double start = now_us();
    for (size_t i = 0; i < (size_t)size; i++) {
        double         since = now_us();
        struct message m = request(s, CHILDREN);
        m.bytes[m.size++] = 0; /* no watch */
        must(ask(s, &m) == 0, "getChildren");
        scene_took(now_us() - since);
    }
    *seconds = (now_us() - start) / 1e6;
    scene_mark();
    remove_line(s, folder, scene->count);
    return (unsigned long)size;
}

static const struct {
    const char *name;
    struct way  way;
} ways[] = {
    { "bare", { join, create, delete, leave, NULL, true } },
    { "ping", { join, exists, nothing, leave, NULL, true } },
    { "list", { .special = play_list } },
};

int main(int argc, char **argv)
{
    size_t i = 0, count = sizeof ways / sizeof ways[0];

    while (argc == 4 && i < count && strcmp(argv[3], ways[i].name) != 0)
        i++;
    if (argc != 4 || i == count) {
        fprintf(stderr, "usage: %s HOST:PORT FILE bare|ping|list\n", argv[0]);
        return 2;
    }
    address = argv[1];
    return scene_main(&ways[i].way, argv[2]);
}
