/* remote_dialer.c - see remote_dialer.h. */
#include "unit/lib/remote_dialer.h"

#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

struct dialer dialer;

static hf_time patience(const struct hf_dial *dial)
{
    return dial->phase == HF_DIAL_GREETING
               ? hf_dial_doubled(DIALER_STEP, dial->slow, 3 * DIALER_STEP)
               : DIALER_STEP;
}

static hf_time pause_most(const struct hf_dial *dial)
{
    (void)dial;
    return dialer.pause_most;
}

static void greet(struct hf_dial *dial)
{
    memcpy(hf_stream_append(&dial->stream, 5), "hello", 5);
    hf_dial_flush(dial);
    if (dialer.eager)
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
    dialer.overs++;
}

static bool may_begin(const struct hf_dial *dial)
{
    (void)dial;
    return !dialer.blocked;
}

static bool is_quiet(const struct hf_dial *dial)
{
    (void)dial;
    return dialer.quiet;
}

const struct hf_dial_ops dialer_ops = {
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
    dialer.links++;
    dialer.last_link = store->link;
}

void dialer_start(const struct hf_dial_ops *with, size_t servers)
{
    dialer.ops = *with; /* copied: that of the test may be out of scope earlier */
    dialer.dial = (struct hf_dial){ .ops = &dialer.ops,
                                    .store = &dialer.store,
                                    .now = &dialer.now,
                                    .list = dialer.list,
                                    .servers = servers };
    hf_dial_init(&dialer.dial, 1);
}

int dialer_setup(void **state)
{
    char errmsg[HF_ERRMSG_MAX];

    (void)state;
    memset(&dialer, 0, sizeof dialer);
    dialer.now = HF_SEC;
    dialer.pause_most = HF_NEVER;
    dialer.store.link = HF_LINK_DOWN;
    dialer.store.on_link = on_link;
    dialer.store.fd = hf_poll_open(errmsg);
    return dialer.store.fd >= 0 ? 0 : -1;
}

int dialer_teardown(void **state)
{
    (void)state;
    hf_dial_close(&dialer.dial);
    assert_true(dialer.dial.stream.fd <= 0);
    close(dialer.store.fd);
    while (dialer.bounds > 0)
        close(dialer.bound[--dialer.bounds]);
    return 0;
}

void dialer_name(size_t i, const char *host, int port)
{
    snprintf(dialer.list[i].host, sizeof dialer.list[i].host, "%s", host);
    snprintf(dialer.list[i].port, sizeof dialer.list[i].port, "%d", port);
}

int dialer_port(const struct peer *peer)
{
    return ntohs(((const struct sockaddr_in *)&peer->at)->sin_port);
}

int dialer_dead_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t          length = sizeof at;
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && dialer.bounds < sizeof dialer.bound / sizeof *dialer.bound);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
    dialer.bound[dialer.bounds++] = fd;
    return ntohs(at.sin_port);
}

void dialer_settle(enum hf_dial_phase phase)
{
    hf_time end = hf_now() + 10 * HF_SEC;

    while (dialer.dial.phase != phase && hf_now() < end) {
        struct pollfd poller = { .fd = dialer.store.fd, .events = POLLIN };
        poll(&poller, 1, 10);
        hf_dial_run(&dialer.dial, true);
    }
    assert_int_equal(dialer.dial.phase, phase);
}

void dialer_fail(void)
{
    hf_dial_run(&dialer.dial, true);
    dialer_settle(HF_DIAL_RESTING);
}

void dialer_said(const char *text)
{
    if (strstr(dialer.store.errmsg, text) == NULL)
        fail_msg("\"%s\" has no \"%s\"", dialer.store.errmsg, text);
}
