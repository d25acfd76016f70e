/* promise.c - see promise.h. */
#include "lib/promise.h"

#include "client/url.h"
#include "examples/store/shelf.h"
#include "holdfast.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 20000 /* for what should take no time: sanitizers are slow */

const struct hf_shape MUTEX = { 1, 1, false };
const struct hf_shape READER = { 1, HF_ALL, false };
const struct hf_shape WRITER = { HF_ALL, HF_ALL, false };
const struct hf_shape CLAIM = { 1, 1, true };

static const char *url;

struct hf_shape semaphore(uint32_t capacity, uint32_t weight)
{
    return (struct hf_shape){ weight, capacity, false };
}

void promise_start(int argc, char **argv)
{
    hf_store_register(&hf_shelf_store);
    url = argc > 1 ? argv[1] : getenv("HF_TEST_URL");
    if (url == NULL)
        url = "memory:promise";
}

void promise_use(const char *text)
{
    url = text;
}

const char *promise_url(void)
{
    return url;
}

bool promise_is_shared(void)
{
    return strncmp(url, "memory:", 7) != 0 && strncmp(url, "shelf:", 6) != 0;
}

/* ---- Players ---------------------------------------------------------------- */

static void on_link(struct hf_store *store, void *data)
{
    struct player *player = data;

    player->lost += store->link == HF_LINK_LOST;
}

void player_open(struct player *player)
{
    player_open_for(player, 2000);
}

void player_open_for(struct player *player, int ttl_ms)
{
    struct hf_url parsed;
    char          errmsg[HF_ERRMSG_MAX] = "";

    *player = (struct player){ 0 };
    if (hf_url_parse(url, &parsed, errmsg) < 0)
        fail_msg("%s", errmsg);
    parsed.config.ttl_ms = ttl_ms;
    int r = hf_store_open(&parsed.config, errmsg, &player->store);
    hf_url_finish(&parsed);
    if (r < 0)
        fail_msg("%s: %s", url, errmsg);
    player->store->on_link = on_link;
    player->store->on_link_data = player;
}

void player_close(struct player *player)
{
    if (player->store != NULL)
        player->store->impl->close(player->store);
    player->store = NULL;
}

static void copy_text(char *to, const char **text)
{
    if (*text == NULL)
        return;
    snprintf(to, 64, "%s", *text);
    *text = to;
}

static void on_done(struct hf_req *req)
{
    struct ask *ask = (struct ask *)req;

    ask->answers++;
    ask->count = req->snapshot.count < SEEN_MAX ? req->snapshot.count : SEEN_MAX;
    for (size_t i = 0; i < ask->count; i++) {
        ask->seen[i] = req->snapshot.ticket[i];
        copy_text(ask->text[i][0], &ask->seen[i].line);
        copy_text(ask->text[i][1], &ask->seen[i].note);
        copy_text(ask->text[i][2], &ask->seen[i].asked);
    }
}

void player_submit(struct player *player, struct ask *ask)
{
    ask->answers = 0;
    ask->req.done = on_done;
    player->store->impl->submit(player->store, &ask->req);
}

void player_turn(struct player *player, int ms)
{
    struct hf_store *store = player->store;
    struct pollfd    pfd = { .fd = store->fd, .events = POLLIN };
    int              wait = hf_poll_ms(hf_now(), store->wake);

    if (wait < 0 || wait > ms)
        wait = ms;
    bool readable = poll(&pfd, 1, wait) > 0;
    store->impl->process(store, hf_now(), readable);
}

bool player_await(struct player *player, const struct ask *ask, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (ask->answers == 0 && hf_now() < end)
        player_turn(player, hf_poll_ms(hf_now(), end));
    return ask->answers > 0;
}

int player_run(struct player *player, struct ask *ask)
{
    player_submit(player, ask);
    if (!player_await(player, ask, LIMIT_MS))
        fail_msg("not answered within %d ms", LIMIT_MS);
    return ask->req.status;
}

/* ---- Requests --------------------------------------------------------------- */

/* A file that another thread keeps to itself for long, because the machine is busy, is
 * one that does not answer for now. */
static int persist(struct player *player, struct ask *ask)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;
    int     r;

    do
        r = player_run(player, ask);
    while (r == HF_EDOWN && hf_now() < end);
    return r;
}

uint64_t enter(struct player *player, const char *name, struct hf_shape shape,
               struct ask *ret)
{
    *ret = (struct ask){ .req = { .op = HF_ENTER,
                                  .name = name,
                                  .id = ++player->ids,
                                  .shape = shape,
                                  .only_free = shape.claim,
                                  .note = "a note" } };
    int r = persist(player, ret);
    if (r < 0)
        fail_msg("ENTER %s: %s: %s", name, hf_errname(r), player->store->errmsg);
    return ret->req.id;
}

int look(struct player *player, const char *name, uint64_t id, struct ask *ret)
{
    *ret = (struct ask){ .req = { .op = HF_READ, .name = name, .id = id } };
    return persist(player, ret);
}

int leave(struct player *player, const char *name, uint64_t id)
{
    struct ask ask = { .req = { .op = HF_LEAVE, .name = name, .id = id } };

    return persist(player, &ask);
}

int list(struct player *player, const char *name, struct ask *ret)
{
    *ret = (struct ask){ .req = { .op = HF_LIST, .name = name } };
    return persist(player, ret);
}

int take_away(struct player *player, const char *name, uint64_t seq)
{
    struct ask ask = { .req = { .op = HF_BREAK, .name = name, .seq = seq } };

    return persist(player, &ask);
}

int amend(struct player *player, const char *name, uint64_t id, struct hf_shape shape,
          struct ask *ret)
{
    *ret =
        (struct ask){ .req = { .op = HF_AMEND, .name = name, .id = id, .shape = shape } };
    return persist(player, ret);
}

int ask_for(struct player *player, const char *name, uint64_t seq, const char *why)
{
    struct ask ask = { .req = { .op = HF_ASK, .name = name, .seq = seq, .note = why } };

    return persist(player, &ask);
}

int prove(struct player *player, const char *name, uint64_t id)
{
    struct ask ask = { .req = { .op = HF_PROVE, .name = name, .id = id } };

    return player_run(player, &ask);
}

int prove_token(struct player *player, const char *name, uint64_t token)
{
    struct ask ask = { .req = { .op = HF_PROVE, .name = name, .token = token } };

    return player_run(player, &ask);
}

size_t length(struct player *player, const char *name)
{
    struct ask all;

    assert_int_equal(list(player, name, &all), 0);
    return all.count;
}

bool is_in_line(const struct ask *ask)
{
    return ask->req.me < ask->count;
}

const struct hf_ticket *my_ticket(const struct ask *ask)
{
    if (!is_in_line(ask))
        fail_msg("not in line");
    return &ask->seen[ask->req.me];
}

static struct hf_verdict judge(const struct ask *ask)
{
    struct hf_line ahead = { ask->seen, ask->req.me };

    return hf_line_judge(&ahead, &my_ticket(ask)->shape);
}

bool is_granted(const struct ask *ask)
{
    return is_in_line(ask) && judge(ask).granted;
}

void watch(struct player *player, const char *name, const struct ask *view,
           struct ask *ret)
{
    struct hf_verdict verdict = judge(view);

    *ret = (struct ask){ .req = { .op = HF_WATCH,
                                  .name = name,
                                  .id = view->req.id,
                                  .stamp = view->req.stamp } };
    ret->req.seqs = ret->seqs;
    ret->req.count = verdict.granted ? 1 : verdict.count;
    ret->seqs[0] = my_ticket(view)->seq;
    for (size_t i = 0; i < verdict.count; i++)
        ret->seqs[i] = view->seen[verdict.first + i].seq;
    player_submit(player, ret);
    player_turn(player, 0);
}

void watch_any(struct player *player, const char *name, const struct ask *view,
               struct ask *ret)
{
    *ret = (struct ask){ .req = { .op = HF_WATCH,
                                  .name = name,
                                  .id = view->req.id,
                                  .stamp = view->req.stamp } };
    player_submit(player, ret);
    player_turn(player, 0);
}

bool wait_for_turn(struct player *player, const char *name, struct ask *view, int ms)
{
    struct ask watching;
    hf_time    end = hf_now() + ms * HF_MS;
    uint64_t   id = view->req.id;

    while (!is_granted(view)) {
        watch(player, name, view, &watching);
        if (!player_await(player, &watching, hf_poll_ms(hf_now(), end))) {
            player->store->impl->cancel(player->store, &watching.req);
            player_await(player, &watching, LIMIT_MS);
            return false;
        }
        if (look(player, name, id, view) != 0)
            return false;
    }
    return true;
}

/* ---- Other processes -------------------------------------------------------- */

_Noreturn void child_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: in a child: not so: %s\n", file, line, what);
    _exit(1);
}

void child_start(struct child *child, void (*body)(struct child *parent))
{
    int   pair[2];
    pid_t self = getpid();

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    fflush(NULL);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self)
            _exit(1);
        close(pair[0]);
        body(&(struct child){ .pid = self, .talk = pair[1] });
        _exit(0);
    }
    close(pair[1]);
    child->talk = pair[0];
}

void child_say(struct child *other)
{
    /* If it has ended, its status tells how. */
    (void)!send(other->talk, ".", 1, MSG_NOSIGNAL);
}

bool child_hear(struct child *other, int ms)
{
    struct pollfd pfd = { .fd = other->talk, .events = POLLIN };
    char          word;

    return poll(&pfd, 1, ms) > 0 && read(other->talk, &word, 1) == 1;
}

int child_status(struct child *child)
{
    int status = -1;

    waitpid(child->pid, &status, 0);
    close(child->talk);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void child_take(struct child *parent, struct player *player, struct hf_shape shape,
                struct ask *ret)
{
    player_open(player);
    enter(player, "x", shape, ret);
    must(is_granted(ret));
    child_say(parent);
}

void child_kill(struct child *child)
{
    kill(child->pid, SIGKILL);
    child_status(child);
}

void child_end(struct child *child)
{
    child_say(child);
    assert_int_equal(child_status(child), 0);
}
