/* main.c - holdfast-top shows all locks of a store live in a terminal; `holdfast top` starts it.
 * HOLDFAST_URL names the store. */
#include "live.h"
#include "once.h"

#include "clock.h"
#include "monitor.h"
#include "text.h"

#include <getopt.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The same as the command's. */
#define EXIT_USAGE       64
#define EXIT_UNAVAILABLE 69
#define EXIT_INTERNAL    70

#define PAUSE_MS     250 /* between two rounds of the store watch, at least */
#define PATIENCE_NS  (10 * NS_PER_SEC) /* --once: until all locks are known */
#define UNREACHED_NS (2 * NS_PER_SEC)  /* the same, if the store cannot be reached */

struct options {
    bool        once, json;
    const char *pattern;
};

static int complain(const char *text)
{
    char line[1100];

    text_clean(line, sizeof line, text);
    fprintf(stderr, "holdfast: %s\n", line);
    return EXIT_UNAVAILABLE;
}

/* 0, or an exit code + 1 if there is nothing more to do. */
static int read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        { "once", no_argument, NULL, 'o' },
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    const char *usage = "usage: holdfast-top [--once] [--json] [PATTERN]\n"
                        "See `holdfast help top`.\n";

    for (int option; (option = getopt_long(argc, argv, "h", known, NULL)) != -1;) {
        options->once |= option == 'o';
        options->json |= option == 'j';
        if (option == 'h') {
            fputs(usage, stdout);
            return 0 + 1;
        }
        if (option == '?') {
            fputs(usage, stderr);
            return EXIT_USAGE + 1;
        }
    }
    if (argc - optind > 1) {
        fputs(usage, stderr);
        return EXIT_USAGE + 1;
    }
    options->pattern = optind < argc ? argv[optind] : NULL;
    return 0;
}

/* ---- Once --------------------------------------------------------------------------- */

/* False: the store does not answer. */
static bool read_once(struct monitor *monitor)
{
    int64_t begin = clock_boot_ns();

    while (!monitor->complete) {
        int64_t now = clock_boot_ns(), limit = PATIENCE_NS;
        if (!monitor->reachable && *monitor->why != '\0')
            limit = UNREACHED_NS;
        int left = (int)((begin + limit - now) / NS_PER_MS);
        if (left <= 0)
            return false;
        struct pollfd fd = { .fd = monitor_fd(monitor), .events = POLLIN };
        (void)poll(&fd, 1, clock_sooner(left, monitor_timeout_ms(monitor)));
        monitor_process(monitor);
    }
    return true;
}

/* The width of the terminal, else COLUMNS, else 0: no limit. */
static size_t print_width(void)
{
    const char    *columns = getenv("COLUMNS");
    struct winsize size;
    uint64_t       width;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    if (columns != NULL && text_parse_number(columns, 1, 10000, &width))
        return (size_t)width;
    return 0;
}

static int print_once(struct monitor *monitor, const struct options *options)
{
    struct rows     rows = { 0 };
    struct snapshot snapshot;

    if (!read_once(monitor))
        return complain(*monitor->why != '\0' ? monitor->why
                                              : "the store does not answer");
    snapshot_take(&snapshot, monitor, clock_wall_us());
    if (options->pattern != NULL)
        rows_filter(&rows, options->pattern, false);
    rows_update(&rows, snapshot.locks, snapshot.now);
    if (options->json)
        once_json(stdout, &rows, &snapshot);
    else
        once_text(stdout, &rows, &snapshot, print_width());
    rows_finish(&rows);
    return 0;
}

/* ------------------------------------------------------------------------------------- */

static int show(const struct options *options)
{
    struct monitor monitor;
    char           error[600] = "";

    int r = monitor_open(&monitor, NULL, PAUSE_MS, error, sizeof error);
    if (r < 0) {
        complain(*error != '\0' ? error : hf_strerror(r));
        return r == HF_EINVAL || r == HF_EUNSUPPORTED ? EXIT_USAGE : EXIT_UNAVAILABLE;
    }
    int code;
    if (options->once)
        code = print_once(&monitor, options);
    else if ((code = live_show(&monitor, options->pattern, error, sizeof error)) < 0)
        code = complain(error);
    monitor_close(&monitor);
    return code;
}

int main(int argc, char **argv)
{
    struct options options = { 0 };

    int done = read_options(argc, argv, &options);
    if (done != 0)
        return done - 1;
    /* Terminals show UTF-8, whatever locale the user has; see text.h. */
    setlocale(LC_CTYPE, "C.UTF-8");
    options.once |= options.json || !isatty(STDOUT_FILENO);
    int signals = options.once ? 0 : live_prepare();
    if (signals < 0) {
        complain("signals cannot be polled");
        return EXIT_INTERNAL;
    }
    int code = show(&options);
    live_end();
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain("stdout cannot be written");
    return code;
}
