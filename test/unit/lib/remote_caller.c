/* remote_caller.c - see remote_caller.h. */
#include "unit/lib/remote_caller.h"

#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

struct caller caller;

static hf_time patience(const struct hf_dial *dial)
{
    return dial->phase == HF_DIAL_GREETING
               ? hf_dial_doubled(CALLER_STEP, dial->slow, 3 * CALLER_STEP)
               : CALLER_STEP;
}

static hf_time pause_most(const struct hf_dial *dial)
{
    (void)dial;
    return caller.pause_most;
}

static void greet(struct hf_dial *dial)
{
    memcpy(hf_stream_append(&dial->stream, 5), "hello", 5);
    hf_dial_flush(dial);
    if (caller.eager)
        hf_dial_ready(dial);
}

static void read_all(struct hf_dial *dial)
{
    char   got[64];
    size_t n = hf_dial_read(dial, got, sizeof got);

    if (n == 5 && memcmp(got, "hello", 5) == 0)
        hf_dial_ready(dial);
}

static void over(struct hf_dial *dial)
{
    assert_int_equal(dial->phase, HF_DIAL_RESTING);
    assert_int_equal(dial->polled.events, 0);
    caller.overs++;
}

static bool may_begin(const struct hf_dial *dial)
{
    (void)dial;
    return !caller.blocked;
}

static bool is_quiet(const struct hf_dial *dial)
{
    (void)dial;
    return caller.quiet;
}

const struct hf_dial_ops caller_ops = {
    .kind = "Fake",
    .plain = "fake:",
    .secure = "fakes:",
    .is_link = true,
    .greet = greet,
    .read = read_all,
    .over = over,
    .may_begin = may_begin,
    .is_quiet = is_quiet,
    .patience = patience,
    .pause_most = pause_most,
};

static void on_link(struct hf_store *store, void *data)
{
    (void)data;
    caller.links++;
    caller.last_link = store->link;
}

void caller_start(const struct hf_dial_ops *with, size_t servers)
{
    caller.ops = *with; /* the test's own may be gone before the dial is */
    caller.dial = (struct hf_dial){ .ops = &caller.ops,
                                    .store = &caller.store,
                                    .now = &caller.now,
                                    .list = caller.list,
                                    .servers = servers };
    hf_dial_init(&caller.dial, 1);
}

int caller_setup(void **state)
{
    char errmsg[HF_ERRMSG_MAX];

    (void)state;
    memset(&caller, 0, sizeof caller);
    caller.now = HF_SEC;
    caller.pause_most = HF_NEVER;
    caller.store.link = HF_LINK_DOWN;
    caller.store.on_link = on_link;
    caller.store.fd = hf_poll_open(errmsg);
    return caller.store.fd >= 0 ? 0 : -1;
}

int caller_teardown(void **state)
{
    (void)state;
    hf_dial_close(&caller.dial);
    assert_true(caller.dial.stream.fd <= 0);
    close(caller.store.fd);
    while (caller.bounds > 0)
        close(caller.bound[--caller.bounds]);
    return 0;
}

void caller_name(size_t i, const char *host, int port)
{
    snprintf(caller.list[i].host, sizeof caller.list[i].host, "%s", host);
    snprintf(caller.list[i].port, sizeof caller.list[i].port, "%d", port);
}

int caller_port(const struct peer *peer)
{
    return ntohs(((const struct sockaddr_in *)&peer->at)->sin_port);
}

int caller_dead_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          length = sizeof at;
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && caller.bounds < sizeof caller.bound / sizeof *caller.bound);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    caller.bound[caller.bounds++] = fd;
    return ntohs(at.sin_port);
}

void caller_settle(enum hf_dial_phase phase)
{
    hf_time end = hf_now() + 10 * HF_SEC;

    while (caller.dial.phase != phase && hf_now() < end) {
        struct pollfd poller = { .fd = caller.store.fd, .events = POLLIN };
        poll(&poller, 1, 10);
        hf_dial_run(&caller.dial, true);
    }
    assert_int_equal(caller.dial.phase, phase);
}

void caller_fail(void)
{
    hf_dial_run(&caller.dial, true);
    caller_settle(HF_DIAL_RESTING);
}

void caller_said(const char *text)
{
    if (strstr(caller.store.errmsg, text) == NULL)
        fail_msg("\"%s\" has no \"%s\"", caller.store.errmsg, text);
}
