/* main.c - holdfast-web shows all locks of a store live in browsers.
 *
 * One thread runs one loop for the store (monitor.h), the browsers (libmicrohttpd, by its epoll
 * descriptor), and signals.  There is one monitor, however many browsers are connected.
 */
#include "address.h"
#include "clock.h"
#include "log.h"
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
#define BEAT_MS    5000            /* and at most, as a heartbeat */
#define SCRAPED_US (120 * 1000000) /* after this, nobody reads metrics any more */
#define TOKEN_MIN  16              /* characters of HOLDFAST_WEB_TOKEN */

struct program {
    struct site    site;
    struct address address, metrics;
    int            signals;
    int64_t        woken; /* when browsers last got a message, ns */
    bool           news;
};

/* ---- The start ----------------------------------------------------------------------- */

static void print_address(struct program *program)
{
    const struct address *address = &program->address;
    const char           *key = program->site.auth.key;
    const char           *host = program->site.options.host;

    if (address->is_unix) {
        log_print("listening on %s; with `ssh -L 7171:%s HOST` open "
                  "http://localhost:7171/#key=%s",
                  address->text, address->path, key);
        return;
    }
    if (address->is_loopback)
        log_print("open http://%s/#key=%s", address->text, key);
    else if (strchr(host, ':') != NULL)
        log_print("open http://%s/#key=%s", host, key);
    else
        log_print("open http://%s:%u/#key=%s", host, address->port, key);
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

/* An address that other machines can reach needs --host as a confirmation. */
static int check_address(const struct program *program)
{
    if (program->address.is_loopback)
        return 0;
    if (program->site.options.host == NULL) {
        log_print(
            "other machines can reach %s: if you want that, add --host NAME with the "
            "name that browsers use",
            program->address.text);
        return EXIT_USAGE;
    }
    log_print(
        "warning: other machines can reach %s, and nothing is encrypted: anybody who "
        "listens in can do what you can; use a proxy with TLS, or ssh",
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
        log_print("warning: everybody who can reach %s can read the metrics",
                  program->metrics.text);
    return code;
}

static int start_serving(struct program *program)
{
    struct site *site = &program->site;
    const char  *bearer = getenv("HOLDFAST_WEB_TOKEN");

    if (bearer != NULL && strlen(bearer) < TOKEN_MIN) {
        log_print("HOLDFAST_WEB_TOKEN must have %d characters or more", TOKEN_MIN);
        return EXIT_USAGE;
    }
    if (!auth_init(&site->auth, bearer) || !feed_init(&site->feed))
        return log_errno("random numbers");
    site->port = program->address.port;
    site->feed.allow_ask = site->options.allow_ask;
    site->feed.allow_break = site->options.allow_break;
    site->pages = serve_pages(site, program->address.fd);
    site->metrics_apart = site->options.metrics != NULL;
    site->metrics_checked = program->metrics.is_loopback;
    if (site->metrics_apart)
        site->metrics = serve_metrics(site, program->metrics.fd);
    if (site->pages == NULL || (site->metrics_apart && site->metrics == NULL)) {
        log_print("cannot start the server");
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

/* When the next message to browsers is due, in ms; -1: there are no browsers. */
static int next_wake(const struct program *program)
{
    int64_t pause = program->news ? PAUSE_MS : BEAT_MS;
    int64_t due = program->woken + pause * NS_PER_MS - clock_boot_ns();

    if (program->site.streams == NULL)
        return -1;
    return due <= 0 ? 0 : (int)(due / NS_PER_MS) + 1;
}

static void update_browsers(struct program *program)
{
    if (next_wake(program) != 0)
        return;
    if (!program->news)
        monitor_read_history(&program->site.monitor);
    counts_follow(&program->site.counts, &program->site.monitor.history,
                  program->site.monitor.initial);
    program->woken = clock_boot_ns();
    program->news = false;
    streams_wake(&program->site);
}

/* Sets `news` only if browsers would see a difference. */
static void process_store(struct program *program)
{
    struct site    *site = &program->site;
    struct monitor *monitor = &site->monitor;
    bool            was_reachable = monitor->reachable, was_complete = monitor->complete;
    uint64_t        events = site->counts.seen;

    monitor->skip_leases =
        site->streams == NULL && clock_wall_us() - site->scraped > SCRAPED_US;
    if (!monitor_process(monitor) && site->feed.version == monitor->locks.version)
        return;
    counts_follow(&site->counts, &monitor->history, monitor->initial);
    if (site->feed.version != monitor->locks.version) {
        (void)feed_follow(&site->feed, monitor);
        locks_trim(&monitor->locks);
        program->news = true;
    }
    if (monitor->reachable != was_reachable || monitor->complete != was_complete ||
        site->counts.seen != events || monitor->refreshed != site->feed.refreshed)
        program->news = true;
}

/* A request queried the store, and more than its answer came: no descriptor would wake us. */
static bool is_behind(const struct site *site)
{
    return site->monitor.round_ended || site->feed.version != site->monitor.locks.version;
}

/* False: the program has to end. */
static bool take_signals(struct program *program)
{
    struct signalfd_siginfo info;

    while (read(program->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo != SIGUSR1)
            return false;
        if (auth_new_key(&program->site.auth))
            print_address(program);
    }
    return true;
}

static void run(struct program *program)
{
    struct site *site = &program->site;

    for (;;) {
        struct pollfd fds[] = {
            { .fd = monitor_fd(&site->monitor), .events = POLLIN },
            { .fd = epoll_of(site->pages), .events = POLLIN },
            { .fd = epoll_of(site->metrics), .events = POLLIN },
            { .fd = program->signals, .events = POLLIN },
        };
        int timeout = monitor_timeout_ms(&site->monitor);
        timeout = clock_sooner(timeout, timeout_of(site->pages));
        timeout = clock_sooner(timeout, timeout_of(site->metrics));
        timeout = clock_sooner(timeout, next_wake(program));
        if (is_behind(site))
            timeout = 0;
        if (poll(fds, sizeof fds / sizeof *fds, timeout) < 0 && errno != EINTR)
            return;
        if (!take_signals(program))
            return;
        process_store(program);
        update_browsers(program);
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
    if (site->monitor.client != NULL)
        monitor_close(&site->monitor);
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
        return log_errno("signals");
    int r = monitor_open(&program.site.monitor, NULL, PAUSE_MS, error, sizeof error);
    if (r < 0) {
        log_print("%s", error);
        return r == HF_EINVAL || r == HF_EUNSUPPORTED ? EXIT_USAGE : EXIT_UNAVAILABLE;
    }
    code = listen_all(&program);
    if (code == 0)
        code = start_serving(&program);
    if (code == 0) {
        print_address(&program);
        run(&program);
    }
    stop(&program);
    return code;
}
