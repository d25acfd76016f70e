/* parse_check.c - options that make no sense together; see parse.h. */
#include "parse.h"

static int check_kind(const struct args *args)
{
    int kinds = args->shared + args->exclusive + args->claim + (args->slots > 0);

    if (kinds > 1)
        return parse_refuse(args->verb,
                            "-s, -x, --slots and --claim are mutually exclusive", NULL);
    if (args->weight > 0 && args->slots == 0)
        return parse_refuse(args->verb, "--weight needs --slots", NULL);
    if (args->weight > args->slots)
        return parse_refuse(args->verb, "--weight must not be more than --slots", NULL);
    return 0;
}

/* A file has one holder, or any number. */
static int check_flock(const struct args *args)
{
    if (args->also_flock != NULL && args->slots > 0)
        return parse_refuse(args->verb,
                            "--also-flock has no slots: it goes with a mutex, -s or -x",
                            NULL);
    return 0;
}

/* A verb that asks the store needs a moment for the answer. */
static int check_limit(const struct args *args)
{
    if (args->nonblock && args->wait_ms > 0)
        return parse_refuse(args->verb, "-n and -w are mutually exclusive", NULL);
    if (args->verb->bit & (IN_CHECK | IN_DOCTOR) && args->wait_ms == 0)
        return parse_refuse(args->verb, "-w 0 leaves no time for an answer", NULL);
    return 0;
}

/* Only the SQL of --print grants rights: a client that connects cannot. */
static int check_grant(const struct args *args)
{
    if (args->grant != NULL && !args->print)
        return parse_refuse(args->verb,
                            "--grant needs --print: psql(1) can run its output", NULL);
    return 0;
}

static int check_system(const struct args *args)
{
    if (args->system && args->url != NULL)
        return parse_refuse(
            args->verb,
            "--system names a store, as --url and --url-file do: give only one", NULL);
    if (args->group != NULL && !args->system)
        return parse_refuse(args->verb, "--group needs --system", NULL);
    return 0;
}

/* With --observe, `elect` takes no part, and most options make no sense. */
static int check_observe(const struct args *args)
{
    bool part = args->again || args->on_ask != 0 || args->max_run_ms > 0 ||
                args->hold_at_least_ms > 0 || args->wait_ms >= 0 || args->note != NULL ||
                args->status_fd != 0 || args->command != NULL;

    if (args->verb->bit != IN_ELECT)
        return 0;
    if (args->observe && part)
        return parse_refuse(
            args->verb, "--observe takes no part: it goes with --json, --url and -v only",
            NULL);
    if (args->json && !args->observe)
        return parse_refuse(args->verb, "--json needs --observe", NULL);
    return 0;
}

static int check_keep(const struct args *args)
{
    if (args->keep >= 0 && (args->operand[0] != NULL || args->since_ms > 0 || args->json))
        return parse_refuse(args->verb,
                            "--keep changes the whole store and prints no history: it "
                            "goes with --url, --url-file, --system and -v only",
                            NULL);
    return 0;
}

/* There may be other ways to reach it one day. */
static int check_stdio(const struct args *args)
{
    if (args->verb->bit == IN_SERVE && !args->stdio)
        return parse_refuse(args->verb, "it needs --stdio", NULL);
    return 0;
}

int parse_check(const struct args *args)
{
    int (*const checks[])(
        const struct args *) = { check_limit, check_observe, check_grant, check_system,
                                 check_kind,  check_flock,   check_keep,  check_stdio };
    int code = 0;

    for (size_t i = 0; code == 0 && i < sizeof checks / sizeof *checks; i++)
        code = checks[i](args);
    return code;
}
