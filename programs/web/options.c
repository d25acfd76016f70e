/* options.c - see options.h. */
#include "options.h"

#include "log.h"

#include <holdfast.h>

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>

#define LISTEN "127.0.0.1:7171"

static const char help[] =
    "Usage: holdfast-web [OPTION]...\n"
    "Show all locks of a store live in browsers.  HOLDFAST_URL names the store.\n"
    "`holdfast web` starts this program.\n"
    "\n"
    "  --listen WHERE   HOST:PORT or unix:PATH (" LISTEN ").  An address that\n"
    "                   other machines can reach is refused without --host\n"
    "  --host NAME      accept one more host name: that of a proxy, or of this\n"
    "                   host; NAME or NAME:PORT\n"
    "  --metrics WHERE  serve only /metrics on this address, without a key\n"
    "  --allow-ask      let the page ask for locks\n"
    "  --allow-break    let the page break locks\n"
    "  --help           show this\n"
    "  --version        show the version\n"
    "\n"
    "It prints an address with a key that logs one browser in, once.  The signal USR1\n"
    "makes it print a new one.  HOLDFAST_WEB_TOKEN, at least 16 characters, is a token\n"
    "for programs, which send it as \"Authorization: Bearer TOKEN\".\n";

enum { LISTEN_AT = 1, HOST, METRICS, ALLOW_ASK, ALLOW_BREAK, HELP, VERSION };

static const struct option known[] = {
    { "listen", required_argument, NULL, LISTEN_AT },
    { "host", required_argument, NULL, HOST },
    { "metrics", required_argument, NULL, METRICS },
    { "allow-ask", no_argument, NULL, ALLOW_ASK },
    { "allow-break", no_argument, NULL, ALLOW_BREAK },
    { "help", no_argument, NULL, HELP },
    { "version", no_argument, NULL, VERSION },
    { NULL, 0, NULL, 0 },
};

/* -1, or the exit code. */
static int take_option(int which, struct options *ret)
{
    switch (which) {
    case LISTEN_AT:
        ret->listen = optarg;
        return -1;
    case HOST:
        ret->host = optarg;
        return -1;
    case METRICS:
        ret->metrics = optarg;
        return -1;
    case ALLOW_ASK:
        ret->allow_ask = true;
        return -1;
    case ALLOW_BREAK:
        ret->allow_break = true;
        return -1;
    case HELP:
        return fputs(help, stdout) < 0 || fflush(stdout) != 0 ? EXIT_INTERNAL : 0;
    case VERSION:
        return printf("holdfast-web %s\n", hf_version()) < 0 ? EXIT_INTERNAL : 0;
    default:
        log_print("see --help");
        return EXIT_USAGE;
    }
}

int options_read(int argc, char **argv, struct options *ret)
{
    int which, code;

    *ret = (struct options){ .listen = LISTEN };
    while ((which = getopt_long(argc, argv, "", known, NULL)) != -1)
        if ((code = take_option(which, ret)) >= 0)
            return code;
    if (optind < argc) {
        log_print("unexpected argument \"%s\"; see --help", argv[optind]);
        return EXIT_USAGE;
    }
    return -1;
}
