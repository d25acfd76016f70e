/* main.c - holdfast-top: all locks of a store, live, on a terminal; `holdfast top` starts
 * it.  The store is that of HOLDFAST_URL. */
#include "live.h"
#include "once.h"

#include "clock.h"
#include "eye.h"
#include "text.h"

#include <getopt.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* As those of the command. */
#define EXIT_USAGE       64
#define EXIT_UNAVAILABLE 69
#define EXIT_INTERNAL    70

#define PAUSE_MS     250               /* between two looks at the store, at least */
#define PATIENCE_NS  (10 * NS_PER_SEC) /* --once: until the store has told everything */
#define UNREACHED_NS (2 * NS_PER_SEC)  /* the same, once it is known to be away */

struct wishes {
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

/* 0, or an exit code + 1: there is nothing more to do. */
static int read_options(int argc, char **argv, struct wishes *wishes)
{
    static const struct option options[] = {
        { "once", no_argument, NULL, 'o' },
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    const char *usage = "usage: holdfast-top [--once] [--json] [PATTERN]\n"
                        "`holdfast help top` tells more.\n";

    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        wishes->once |= option == 'o';
        wishes->json |= option == 'j';
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
    wishes->pattern = optind < argc ? argv[optind] : NULL;
    return 0;
}

/* ---- Once --------------------------------------------------------------------------- */

/* False: the store does not tell what it has. */
static bool look_once(struct eye *eye)
{
    int64_t begin = clock_boot_ns();

    while (!eye->complete) {
        int64_t now = clock_boot_ns(), limit = PATIENCE_NS;
        if (!eye->reachable && *eye->why != '\0')
            limit = UNREACHED_NS;
        int left = (int)((begin + limit - now) / NS_PER_MS);
        if (left <= 0)
            return false;
        struct pollfd fd = { .fd = eye_fd(eye), .events = POLLIN };
        (void)poll(&fd, 1, clock_sooner(left, eye_timeout_ms(eye)));
        eye_process(eye);
    }
    return true;
}

/* Of the terminal, else of COLUMNS; 0: whatever it needs. */
static size_t paper_width(void)
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

static int print_once(struct eye *eye, const struct wishes *wishes)
{
    struct rows  rows = { 0 };
    struct sight sight;

    if (!look_once(eye))
        return complain(*eye->why != '\0' ? eye->why : "the store does not answer");
    sight_take(&sight, eye, clock_wall_us());
    if (wishes->pattern != NULL)
        rows_filter(&rows, wishes->pattern, false);
    rows_take(&rows, sight.board, sight.now);
    if (wishes->json)
        once_json(stdout, &rows, &sight);
    else
        once_text(stdout, &rows, &sight, paper_width());
    rows_finish(&rows);
    return 0;
}

/* ------------------------------------------------------------------------------------- */

static int show(const struct wishes *wishes)
{
    struct eye eye;
    char       error[600] = "";

    int r = eye_open(&eye, NULL, PAUSE_MS, error, sizeof error);
    if (r < 0) {
        complain(*error != '\0' ? error : hf_strerror(r));
        return r == HF_EINVAL || r == HF_EUNSUPPORTED ? EXIT_USAGE : EXIT_UNAVAILABLE;
    }
    int code;
    if (wishes->once)
        code = print_once(&eye, wishes);
    else if ((code = live_show(&eye, wishes->pattern, error, sizeof error)) < 0)
        code = complain(error);
    eye_close(&eye);
    return code;
}

int main(int argc, char **argv)
{
    struct wishes wishes = { 0 };

    int done = read_options(argc, argv, &wishes);
    if (done != 0)
        return done - 1;
    /* Terminals show UTF-8, whatever language the user speaks; see text.h. */
    setlocale(LC_CTYPE, "C.UTF-8");
    wishes.once |= wishes.json || !isatty(STDOUT_FILENO);
    int signals = wishes.once ? 0 : live_prepare();
    if (signals < 0) {
        complain("signals cannot be polled");
        return EXIT_INTERNAL;
    }
    int code = show(&wishes);
    live_end();
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain("stdout cannot be written");
    return code;
}
