/* main.c - holdfast-web: all locks of a store, live, as a page for browsers.
 *
 * One thread and one loop: the store (eye.h), the browsers (libmicrohttpd, by its epoll
 * descriptor), and signals.  There is one eye on the store, however many browsers look.
 */
#include "address.h"
#include "clock.h"
#include "say.h"
#include "serve.h"
#include "stream.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <syslog.h>
#include <unistd.h>

#define PAUSE_MS   200             /* between two messages to a browser, at least */
#define BEAT_MS    5000            /* and at most: so it knows that we are there */
#define SCRAPED_US (120 * 1000000) /* who asked for metrics so lately asks again */
#define TOKEN_MIN  16              /* characters of HOLDFAST_WEB_TOKEN */

struct program {
    struct site    site;
    struct address address, metrics;
    int            signals;
    int64_t        woken; /* when browsers were told something last, ns */
    bool           news;
};

/* ---- The start ----------------------------------------------------------------------- */

static void tell_address(struct program *program)
{
    const struct address *address = &program->address;
    const char           *key = program->site.door.key;
    const char           *host = program->site.options.host;

    if (address->is_unix) {
        say("listens on %s; with `ssh -L 7171:%s HOST` open "
            "http://localhost:7171/#key=%s",
            address->text, address->path, key);
        return;
    }
    if (address->is_loopback)
        say("open http://%s/#key=%s", address->text, key);
    else if (strchr(host, ':') != NULL)
        say("open http://%s/#key=%s", host, key);
    else
        say("open http://%s:%u/#key=%s", host, address->port, key);
}

static int open_signals(void)
{
    sigset_t set;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -1;
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Nobody gets to be reached from outside without having said so twice. */
static int check_address(const struct program *program)
{
    if (program->address.is_loopback)
        return 0;
    if (program->site.options.host == NULL) {
        say("%s can be reached by others: say --host NAME, too, with the name that "
            "browsers know it by, if that is meant",
            program->address.text);
        return EXIT_USAGE;
    }
    say("warning: %s can be reached by others, and nothing is encrypted: who listens in "
        "can do what you can; better is a proxy with TLS, or ssh",
        program->address.text);
    return 0;
}

static int listen_all(struct program *program)
{
    const struct options *options = &program->site.options;
    int                   code = address_listen(options->listen, &program->address);

    if (code == 0)
        code = check_address(program);
    if (code != 0 || options->metrics == NULL)
        return code;
    code = address_listen(options->metrics, &program->metrics);
    if (code == 0 && !program->metrics.is_loopback)
        say("warning: metrics at %s can be read by everybody who reaches it",
            program->metrics.text);
    return code;
}

static int start_serving(struct program *program)
{
    struct site *site = &program->site;
    const char  *bearer = getenv("HOLDFAST_WEB_TOKEN");

    if (bearer != NULL && strlen(bearer) < TOKEN_MIN) {
        say("HOLDFAST_WEB_TOKEN: %d characters or more are wanted", TOKEN_MIN);
        return EXIT_USAGE;
    }
    if (!door_init(&site->door, bearer) || !feed_init(&site->feed))
        return say_errno("random numbers");
    site->port = program->address.port;
    site->feed.allow_ask = site->options.allow_ask;
    site->feed.allow_break = site->options.allow_break;
    site->pages = serve_pages(site, program->address.fd);
    site->metrics_apart = site->options.metrics != NULL;
    site->metrics_checked = program->metrics.is_loopback;
    if (site->metrics_apart)
        site->metrics = serve_metrics(site, program->metrics.fd);
    if (site->pages == NULL || (site->metrics_apart && site->metrics == NULL)) {
        say("the server cannot be started");
        return EXIT_INTERNAL;
    }
    return 0;
}

/* ---- The loop -------------------------------------------------------------------------- */

static int epoll_of(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info =
        daemon != NULL ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;

    return info != NULL ? info->epoll_fd : -1;
}

static int timeout_of(struct MHD_Daemon *daemon)
{
    MHD_UNSIGNED_LONG_LONG timeout;

    if (daemon == NULL || MHD_get_timeout(daemon, &timeout) != MHD_YES)
        return -1;
    return timeout < BEAT_MS ? (int)timeout : BEAT_MS;
}

/* When browsers have to be told something, in ms; -1: there is none. */
static int next_wake(const struct program *program)
{
    int64_t pause = program->news ? PAUSE_MS : BEAT_MS;
    int64_t due = program->woken + pause * NS_PER_MS - clock_boot_ns();

    if (program->site.streams == NULL)
        return -1;
    return due <= 0 ? 0 : (int)(due / NS_PER_MS) + 1;
}

static void tell_browsers(struct program *program)
{
    if (next_wake(program) != 0)
        return;
    if (!program->news)
        eye_recall(&program->site.eye);
    counts_follow(&program->site.counts, &program->site.eye.past,
                  program->site.eye.before);
    program->woken = clock_boot_ns();
    program->news = false;
    streams_wake(&program->site);
}

/* What browsers see has changed; a look that found nothing is no news. */
static void look(struct program *program)
{
    struct site *site = &program->site;
    struct eye  *eye = &site->eye;
    bool         was_reachable = eye->reachable, was_complete = eye->complete;
    uint64_t     events = site->counts.seen;

    eye->unseen = site->streams == NULL && clock_wall_us() - site->scraped > SCRAPED_US;
    if (!eye_process(eye) && site->feed.version == eye->board.version)
        return;
    counts_follow(&site->counts, &eye->past, eye->before);
    if (site->feed.version != eye->board.version) {
        (void)feed_follow(&site->feed, eye);
        board_trim(&eye->board);
        program->news = true;
    }
    if (eye->reachable != was_reachable || eye->complete != was_complete ||
        site->counts.seen != events || eye->refreshed != site->feed.refreshed)
        program->news = true;
}

/* A request had the store asked, and more than its answer came: nothing would wake us. */
static bool is_behind(const struct site *site)
{
    return site->eye.looked || site->feed.version != site->eye.board.version;
}

/* False: the end. */
static bool take_signals(struct program *program)
{
    struct signalfd_siginfo info;

    while (read(program->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGUSR1)
            return false;
        if (door_new_key(&program->site.door))
            tell_address(program);
    }
    return true;
}

static void run(struct program *program)
{
    struct site *site = &program->site;

    for (;;) {
        struct pollfd fds[] = {
            { .fd = eye_fd(&site->eye), .events = POLLIN },
            { .fd = epoll_of(site->pages), .events = POLLIN },
            { .fd = epoll_of(site->metrics), .events = POLLIN },
            { .fd = program->signals, .events = POLLIN },
        };
        int timeout = eye_timeout_ms(&site->eye);
        timeout = clock_sooner(timeout, timeout_of(site->pages));
        timeout = clock_sooner(timeout, timeout_of(site->metrics));
        timeout = clock_sooner(timeout, next_wake(program));
        if (is_behind(site))
            timeout = 0;
        if (poll(fds, sizeof fds / sizeof *fds, timeout) < 0 && errno != EINTR)
            return;
        if (!take_signals(program))
            return;
        look(program);
        tell_browsers(program);
        MHD_run(site->pages);
        if (site->metrics != NULL)
            MHD_run(site->metrics);
    }
}

/* ---- The end --------------------------------------------------------------------------- */

static void stop(struct program *program)
{
    struct site *site = &program->site;

    if (site->pages != NULL) {
        streams_end(site);
        MHD_run(site->pages);
        MHD_stop_daemon(site->pages);
    }
    if (site->metrics != NULL)
        MHD_stop_daemon(site->metrics);
    address_leave(&program->address);
    address_leave(&program->metrics);
    feed_finish(&site->feed);
    if (site->eye.client != NULL)
        eye_close(&site->eye);
}

int main(int argc, char **argv)
{
    static struct program program = { .address.fd = -1, .metrics.fd = -1 };
    char                  error[512] = "";

    int code = options_read(argc, argv, &program.site.options);
    if (code >= 0)
        return code;
    openlog("holdfast-web", LOG_PID, LOG_DAEMON);
    program.signals = open_signals();
    if (program.signals < 0)
        return say_errno("signals");
    int r = eye_open(&program.site.eye, NULL, PAUSE_MS, error, sizeof error);
    if (r < 0) {
        say("%s", error);
        return r == HF_EINVAL || r == HF_EUNSUPPORTED ? EXIT_USAGE : EXIT_UNAVAILABLE;
    }
    code = listen_all(&program);
    if (code == 0)
        code = start_serving(&program);
    if (code == 0) {
        tell_address(&program);
        run(&program);
    }
    stop(&program);
    return code;
}
