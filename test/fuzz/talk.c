/* talk.c - see talk.h. */
#include "fuzz/talk.h"

#include "base/clock.h"
#include "holdfast.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 400, LEAPS = 6, REQUESTS = 16 };

/* ---- Time ------------------------------------------------------------------------- */

static hf_time leapt;

/* All of the process sees the same virtual time. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int r = (int)syscall(SYS_clock_gettime, clock, ret);

    if (r == 0) {
        hf_time ns = ret->tv_nsec + leapt % HF_SEC;
        ret->tv_sec += leapt / HF_SEC + ns / HF_SEC;
        ret->tv_nsec = ns % HF_SEC;
    }
    return r;
}

/* ---- The server -------------------------------------------------------------------- */

static void listen_tcp(struct talk *talk)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t          size = sizeof at;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    talk->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert(talk->listener >= 0);
    assert(bind(talk->listener, (struct sockaddr *)&at, size) == 0);
    assert(getsockname(talk->listener, (struct sockaddr *)&at, &size) == 0);
    talk->port = ntohs(at.sin_port);
}

static char folder[64];

static void remove_folder(void)
{
    char path[96];

    snprintf(path, sizeof path, "%s/%s", folder, TALK_FILE);
    unlink(path);
    rmdir(folder);
}

static void listen_unix(struct talk *talk)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };

    strcpy(folder, "/dev/shm/hf-fuzz-XXXXXX"); /* TMPDIR may be too long for a socket */
    assert(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    strcpy(talk->folder, folder);
    snprintf(at.sun_path, sizeof at.sun_path, "%s/%s", folder, TALK_FILE);
    talk->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert(talk->listener >= 0);
    assert(bind(talk->listener, (struct sockaddr *)&at, sizeof at) == 0);
}

static void start_server(struct talk *talk)
{
    if (talk->listener == 0) {
        if (talk->tcp)
            listen_tcp(talk);
        else
            listen_unix(talk);
        assert(listen(talk->listener, 64) == 0);
    }
    for (size_t i = 0; i < TALK_CONNS; i++)
        talk->conn[i].fd = -1;
}

/* Without a linger the port would be in use for a minute. */
static void hang_up(struct talk_conn *conn)
{
    struct linger at_once = { .l_onoff = 1 };

    if (conn->fd < 0)
        return;
    setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(conn->fd);
    conn->fd = -1;
}

void talk_write(struct talk_conn *conn, const void *bytes, size_t size)
{
    if (size > sizeof conn->out - conn->written) /* the answer is cut off */
        size = sizeof conn->out - conn->written;
    if (size > 0)
        memcpy(conn->out + conn->written, bytes, size);
    conn->written += size;
}

/* All at once: the kernel counts small pieces as large ones, and takes only so many. */
static void send_out(struct talk_conn *conn)
{
    if (conn->written > 0 && conn->fd >= 0)
        (void)!send(conn->fd, conn->out, conn->written, MSG_DONTWAIT | MSG_NOSIGNAL);
    conn->written = 0;
}

bool talk_piece(struct talk *talk, const uint8_t **piece, size_t *size)
{
    size_t left = (size_t)(talk->end - talk->at);

    if (left == 0)
        return false;
    const uint8_t *cut = memmem(talk->at, left, TALK_CUT, strlen(TALK_CUT));
    *piece = talk->at;
    *size = cut != NULL ? (size_t)(cut - talk->at) : left;
    talk->at = cut != NULL ? cut + strlen(TALK_CUT) : talk->end;
    return true;
}

/* A connection takes the place of one that is closed, or of the last. */
static bool accept_conn(struct talk *talk)
{
    int fd = accept4(talk->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0)
        return false;
    struct talk_conn *conn = talk->conn;
    while (conn->fd >= 0 && conn < &talk->conn[TALK_CONNS - 1])
        conn++;
    hang_up(conn);
    conn->fd = fd;
    conn->open = false;
    conn->used = 0;
    conn->written = 0;
    if (talk->greet != NULL) {
        talk->greet(talk, conn);
        send_out(conn);
    }
    return true;
}

/* True: something has happened. */
static bool serve_conn(struct talk *talk, struct talk_conn *conn)
{
    size_t size;

    if (conn->fd < 0)
        return false;
    ssize_t n = recv(conn->fd, conn->call + conn->used, sizeof conn->call - conn->used,
                     MSG_DONTWAIT);
    if (n == 0)
        hang_up(conn);
    if (n <= 0)
        return n == 0;
    conn->used += (size_t)n;
    while (conn->fd >= 0 && (size = talk->call_size(conn)) > 0) {
        assert(size <= conn->used); /* the store never sends a call that is broken */
        talk->answer(talk, conn, size);
        send_out(conn);
        conn->open = true;
        conn->used -= size;
        memmove(conn->call, conn->call + size, conn->used);
    }
    return true;
}

static bool serve(struct talk *talk)
{
    bool busy = accept_conn(talk);

    for (size_t i = 0; i < TALK_CONNS; i++)
        busy |= serve_conn(talk, &talk->conn[i]);
    return busy;
}

/* The newest connection is the one for messages, if there is one for these. */
static bool tell_piece(struct talk *talk)
{
    const uint8_t *piece;
    size_t         size;

    for (size_t i = TALK_CONNS; i-- > 0;)
        if (talk->conn[i].fd >= 0 && talk->conn[i].open) {
            if (!talk_piece(talk, &piece, &size))
                return false;
            talk->tell(&talk->conn[i], piece, size);
            send_out(&talk->conn[i]);
            return true;
        }
    return false;
}

/* ---- Requests ------------------------------------------------------------------------ */

struct asked {
    struct hf_req      req;
    bool               flying;
    struct hf_standing standing; /* the answer */
    char               reason[HF_ERRMSG_MAX];
};

struct asker {
    struct hf_store *store;
    struct asked     asked[REQUESTS];
    unsigned         first; /* request */
    unsigned         count; /* submitted */
    unsigned         waits; /* of them not answered, but for watches */
    uint64_t         token; /* seen last */
};

/* What ENTER has answered is the base of later requests. */
enum { ENTER_A = 0, ENTER_B = 2 };

static const struct hf_req requests[] = {
    [ENTER_A] = { .op = HF_ENTER, .name = "a", .id = 1, .shape = { 1, 1, false } },
    { .op = HF_WATCH, .name = "a", .id = 1 },
    [ENTER_B] = { .op = HF_ENTER, .name = "b", .id = 2, .shape = { 2, 3, false } },
    { .op = HF_LIST },
    { .op = HF_HISTORY },
    { .op = HF_DIAGNOSE, .name = "a" },
    { .op = HF_VERIFY, .name = "a", .id = 1 },
    { .op = HF_ENTER, .name = "c", .id = 3, .shape = { 1, 1, true }, .only_free = true },
    { .op = HF_WATCH_STORE },
    { .op = HF_ASK, .name = "a", .token = 7, .note = "why" },
    { .op = HF_DOWNGRADE, .name = "b", .id = 2, .shape = { 1, 3, false } },
    { .op = HF_WATCH, .name = "b" },
    { .op = HF_LIST, .name = "b" },
    { .op = HF_BREAK, .name = "b", .token = 7, .note = "by ana" },
    { .op = HF_LEAVE, .name = "a", .id = 1 },
    { .op = HF_LEAVE, .name = "b", .id = 2 },
};
static_assert(sizeof requests / sizeof *requests == REQUESTS, "each is submitted once");

static bool may_wait(const struct hf_req *req)
{
    return req->op == HF_WATCH || req->op == HF_WATCH_STORE;
}

/* The texts of a place end somewhere. */
static void read_places(struct asker *asker, const struct hf_line *line)
{
    size_t length = 0;

    for (size_t i = 0; i < line->count; i++) {
        length += strlen(line->place[i].line) + strlen(line->place[i].note);
        asker->token = line->place[i].token;
    }
    assert(length < SIZE_MAX / 2);
}

static void on_done(struct hf_req *req)
{
    struct asked *asked = (struct asked *)req;
    struct asker *asker = req->data;

    assert(asked->flying); /* S7: once */
    assert(req->status <= 0 && strcmp(hf_errname(req->status), "HF_UNKNOWN") != 0);
    asked->flying = false;
    asker->waits -= !may_wait(req);
    asked->standing = req->standing;
    if (req->standing.asked != NULL) { /* lent until we return */
        snprintf(asked->reason, sizeof asked->reason, "%s", req->standing.asked);
        asked->standing.asked = asked->reason;
    }
    if (req->op == HF_LIST && req->status == 0)
        read_places(asker, &req->line);
}

/* WATCH and DOWNGRADE are for places that we have. */
static bool has_place(const struct asker *asker, const struct hf_req *req)
{
    const struct asked *enter = &asker->asked[req->id == 1 ? ENTER_A : ENTER_B];

    return enter->req.op == HF_ENTER && enter->req.status == 0 && !enter->flying &&
           enter->standing.state != HF_STAND_NONE;
}

static bool ask_next(struct asker *asker)
{
    const struct hf_store_impl *impl = asker->store->impl;

    if (asker->waits > 0 || asker->count == REQUESTS)
        return false;
    unsigned      index = (asker->first + asker->count++) % REQUESTS;
    struct asked *asked = &asker->asked[index];
    asked->req = requests[index];
    asked->req.data = asker;
    asked->req.done = on_done;
    if ((asked->req.op == HF_HISTORY && !impl->recalls) ||
        (asked->req.op == HF_WATCH_STORE && !impl->store_watches))
        return true;
    if (asked->req.id != 0 && asked->req.op != HF_ENTER && !has_place(asker, &asked->req))
        return true;
    if (asked->req.op == HF_WATCH && asked->req.id != 0)
        asked->req.standing = asker->asked[ENTER_A].standing;
    if (asked->req.token != 0 && asker->token != 0)
        asked->req.token = asker->token;
    asked->flying = true;
    asker->waits += !may_wait(&asked->req);
    impl->submit(asker->store, &asked->req);
    return true;
}

/* ---- The talk ------------------------------------------------------------------------ */

static void talk_on(struct talk *talk, struct asker *asker)
{
    struct hf_store *store = asker->store;
    int              leaps = 0;

    for (int round = 0; round < ROUNDS && leaps < LEAPS; round++) {
        store->impl->process(store, hf_now(), true);
        if (serve(talk) || store->wake <= hf_now())
            continue;
        if (ask_next(asker) || tell_piece(talk))
            continue;
        leapt += store->wake == HF_NEVER ? HF_SEC : store->wake - hf_now();
        leaps++;
    }
    for (size_t i = 0; i < TALK_CONNS; i++)
        hang_up(&talk->conn[i]);
    store->impl->process(store, hf_now(), true); /* it notices: close() need not wait */
}

void talk_run(struct talk *talk, const uint8_t *bytes, size_t size)
{
    static struct asker asker;
    struct hf_config    config = { .ttl_ms = 15000, .seed = 1 };
    char                errmsg[HF_ERRMSG_MAX];

    if (size == 0)
        return;
    memset(&asker, 0, sizeof asker);
    asker.first = bytes[0] % REQUESTS;
    talk->at = bytes + 1;
    talk->end = bytes + size;
    start_server(talk);
    talk->configure(talk, &config);
    int r = hf_store_open(&config, errmsg, &asker.store);
    assert(r == 0);
    talk_on(talk, &asker);
    asker.store->impl->close(asker.store);
    while (accept_conn(talk)) /* of a dial that was closed again */
        continue;
    for (size_t i = 0; i < TALK_CONNS; i++)
        hang_up(&talk->conn[i]);
}
