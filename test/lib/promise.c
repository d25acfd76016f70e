/* promise.c - see promise.h. */
#include "lib/promise.h"

#include "client/url.h"
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

#define LIMIT_MS 20000 /* for requests that take no time: sanitizers are slow */

static const char *url;

void promise_start(int argc, char **argv)
{
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
    return strncmp(url, "memory:", 7) != 0;
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

void player_submit(struct player *player, struct request *request)
{
    request->answers = 0;
    request->req.done = request_answered;
    player->store->impl->submit(player->store, &request->req);
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

bool player_await(struct player *player, const struct request *request, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (request->answers == 0 && hf_now() < end)
        player_turn(player, hf_poll_ms(hf_now(), end));
    return request->answers > 0;
}

int player_run(struct player *player, struct request *request)
{
    player_submit(player, request);
    if (!player_await(player, request, LIMIT_MS))
        fail_msg("not answered within %d ms", LIMIT_MS);
    return request->req.status;
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
    /* If it has ended, its status says why. */
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
                struct request *ret)
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
