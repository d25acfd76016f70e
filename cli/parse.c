/* parse.c - from argv to struct args, by the option table. */
#include "options.h"

#include "cli.h"
#include "redact.h"
#include "text.h"
#include "url.h"

#include <assert.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 32

/* What getopt_long() wants to know, for one verb. */
struct grammar {
    char          letters[2 * ROWS_MAX + 3];
    struct option longs[ROWS_MAX + 1];
};

static void make_grammar(const struct verb *verb, struct grammar *ret)
{
    char          *letter = ret->letters;
    struct option *o = ret->longs;

    assert(option_count <= ROWS_MAX);
    *letter++ = '+'; /* stop at the first operand: the rest may be a command's */
    *letter++ = ':'; /* tell a missing argument from an unknown option */
    for (size_t i = 0; i < option_count; i++) {
        const struct option_row *row = &option_table[i];
        if ((row->verbs & verb->bit) == 0)
            continue;
        *o++ = (struct option){ row->name, row->value ? required_argument : no_argument,
                                NULL, row->id };
        if (row->id < 256) {
            *letter++ = (char)row->id;
            if (row->value != NULL)
                *letter++ = ':';
        }
    }
    *letter = '\0';
    *o = (struct option){ 0 };
}

static int usage(const struct verb *verb, const char *what, const char *value)
{
    complain("%s: %s%s%s; see `holdfast help %s`", verb->name, what, value ? " " : "",
             value ? value : "", verb->name);
    return EXIT_USAGE;
}

static int bad_value(const char *option, const char *value, const char *want)
{
    complain("--%s \"%s\" is not %s", option, value, want);
    return EXIT_USAGE;
}

static void replace_url(struct args *args, char *url)
{
    args_finish(args);
    args->url = url;
}

static int take_url_file(struct args *args, const char *path)
{
    char *url = url_read_file(path);

    if (url == NULL)
        return EXIT_USAGE;
    replace_url(args, url);
    return 0;
}

/* ps(1) shows argv to everybody. */
static int take_url(struct args *args, char *value)
{
    char *copy = strdup(value);

    if (copy == NULL)
        return complain_errno("--url");
    redact_url_wipe(value);
    replace_url(args, copy);
    return 0;
}

static int take_count(const char *option, const char *value, uint32_t *ret)
{
    uint64_t number;

    if (!text_parse_number(value, 1, UINT32_MAX - 1, &number))
        return bad_value(option, value, "a number from 1 on");
    *ret = (uint32_t)number;
    return 0;
}

static int take_duration(const char *option, const char *value, int64_t *ret)
{
    int64_t ms = text_parse_duration(value);

    if (ms < 0)
        return bad_value(option, value, "a time such as 10, 2.5, 500ms, 2m or 1h");
    *ret = ms;
    return 0;
}

static int take_exit_code(const char *value, int *ret)
{
    uint64_t number;

    if (!text_parse_number(value, 0, 255, &number))
        return bad_value("conflict-exit-code", value, "a number from 0 to 255");
    *ret = (int)number;
    return 0;
}

static int take_signal(const char *option, const char *value, int *ret)
{
    int signal = text_parse_signal(value);

    if (signal < 0)
        return bad_value(option, value, "a signal such as TERM, INT or 15");
    *ret = signal;
    return 0;
}

static int take_leftovers(const char *value, enum leftovers *ret)
{
    static const char *const words[] = {
        [LEFTOVERS_WAIT] = "wait", [LEFTOVERS_END] = "end", [LEFTOVERS_LEAVE] = "leave"
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(value, words[i]) == 0) {
            *ret = (enum leftovers)i;
            return 0;
        }
    return bad_value("leftovers", value, "wait, end or leave");
}

static int take_token(const char *value, uint64_t *ret)
{
    if (!text_parse_number(value, 1, UINT64_MAX, ret))
        return bad_value("token", value, "a token as `holdfast show` prints it");
    return 0;
}

static int take_role(struct args *args, const char *value)
{
    if (*value == '\0')
        return bad_value("grant", value, "the name of a role");
    args->grant = value;
    return 0;
}

/* Those that are either given or not. */
static bool *flag_of(struct args *args, int id)
{
    switch (id) {
    case 's':
        return &args->shared;
    case 'x':
        return &args->exclusive;
    case 'q':
        return &args->quiet;
    case 'v':
        return &args->verbose;
    case 'h':
        return &args->help;
    case 'y':
        return &args->yes;
    case OPT_CLAIM:
        return &args->claim;
    case OPT_JSON:
        return &args->json;
    case OPT_YIELD:
        return &args->yield;
    case OPT_AGAIN:
        return &args->again;
    case OPT_OBSERVE:
        return &args->observe;
    case OPT_PRINT:
        return &args->print;
    case OPT_SHOW_COMMAND:
        return &args->show_command;
    default:
        return NULL;
    }
}

static int take_option(struct args *args, int id, char *value)
{
    bool *flag = flag_of(args, id);

    if (flag != NULL) {
        *flag = true;
        return 0;
    }
    switch (id) {
    case 'n':
        args->wait_ms = 0;
        return 0;
    case 'w':
        return take_duration("wait", value, &args->wait_ms);
    case 'E':
        return take_exit_code(value, &args->busy_exit);
    case OPT_SLOTS:
        return take_count("slots", value, &args->slots);
    case OPT_WEIGHT:
        return take_count("weight", value, &args->weight);
    case OPT_NOTE:
        args->note = value;
        return 0;
    case OPT_URL:
        return take_url(args, value);
    case OPT_URL_FILE:
        return take_url_file(args, value);
    case OPT_SIGNAL:
        return take_signal("signal", value, &args->signal);
    case OPT_GRACE:
        return take_duration("grace", value, &args->grace_ms);
    case OPT_TOKEN:
        return take_token(value, &args->token);
    case OPT_MAX_WAITERS:
        return take_count("max-waiters", value, &args->max_waiters);
    case OPT_ON_ASK:
        return take_signal("on-ask", value, &args->on_ask);
    case OPT_LEFTOVERS:
        return take_leftovers(value, &args->leftovers);
    case OPT_REASON:
        args->reason = value;
        return 0;
    case OPT_GRANT:
        return take_role(args, value);
    default:
        abort(); /* an option of the table that nobody takes */
    }
}

/* *ended: there was a "--", and no option comes after it.  getopt_long() itself must not
 * be called again then: it would start over behind the "--". */
static int take_options(int argc, char **argv, const struct grammar *grammar,
                        struct args *args, bool *ended)
{
    for (;;) {
        int at = optind;
        int id = getopt_long(argc, argv, grammar->letters, grammar->longs, NULL);
        if (id == -1) {
            *ended = optind > at && strcmp(argv[at], "--") == 0;
            return 0;
        }
        char *word = argv[optind - 1];
        char  letter[3] = { '-', (char)optopt, '\0' };
        bool  is_letter = optopt > 0 && optopt < 256 && strncmp(word, "--", 2) != 0;

        if (id == ':' || id == '?') /* without the value, which may be a secret */
            word[strcspn(word, "=")] = '\0';
        if (id == ':')
            return usage(args->verb, "an argument is missing after",
                         is_letter ? letter : word);
        if (id == '?')
            return usage(args->verb, "there is no option", is_letter ? letter : word);
        int code = take_option(args, id, optarg);
        if (code != 0)
            return code;
    }
}

static int check_kind(const struct args *args)
{
    int kinds = args->shared + args->exclusive + args->claim + (args->slots > 0);

    if (kinds > 1)
        return usage(args->verb, "-s, -x, --slots and --claim exclude each other", NULL);
    if (args->weight > 0 && args->slots == 0)
        return usage(args->verb, "--weight needs --slots", NULL);
    if (args->weight > args->slots)
        return usage(args->verb, "--weight must not be more than --slots", NULL);
    return 0;
}

/* Those that ask the store something need a moment for it. */
static int check_limit(const struct args *args)
{
    if (args->verb->bit & (IN_CHECK | IN_DOCTOR) && args->wait_ms == 0)
        return usage(args->verb, "-w 0 leaves no time for an answer", NULL);
    return 0;
}

/* --grant needs --print: when we connect ourselves we are a client, and grant nothing. */
static int check_grant(const struct args *args)
{
    if (args->grant != NULL && !args->print)
        return usage(args->verb, "--grant needs --print: have psql(1) run that", NULL);
    return 0;
}

/* --observe makes another thing of `elect`. */
static int check_observe(const struct args *args)
{
    bool part = args->again || args->on_ask != 0 || args->wait_ms >= 0 ||
                args->note != NULL || args->command != NULL;

    if (args->verb->bit != IN_ELECT)
        return 0;
    if (args->observe && part)
        return usage(args->verb,
                     "--observe takes no part: it goes with --json, --url and -v only",
                     NULL);
    if (args->json && !args->observe)
        return usage(args->verb, "--json needs --observe", NULL);
    return 0;
}

/* Options may stand before and after operands, but end at "--" and where a command
 * starts.  A "--" may stand before NAME and another one before COMMAND. */
static int take_all(int argc, char **argv, const struct grammar *grammar,
                    struct args *args)
{
    const struct verb *verb = args->verb;
    int                operands = 0, code;
    bool               ended = false;

    for (;;) {
        code = ended ? 0 : take_options(argc, argv, grammar, args, &ended);
        if (code != 0)
            return code;
        if (optind >= argc || (verb->command && operands == verb->most))
            break;
        if (operands == verb->most)
            return usage(verb, "too many arguments, from", argv[optind]);
        args->operand[operands++] = argv[optind++];
        if (ended && verb->command && optind < argc && strcmp(argv[optind], "--") == 0)
            optind++;
    }
    if (args->help)
        return 0;
    if (operands < verb->least)
        return usage(verb,
                     verb->names ? "the NAME of the lock is missing"
                                 : "an argument is missing",
                     NULL);
    if (verb->command && optind >= argc && !args->observe)
        return usage(verb, "the COMMAND to run is missing", NULL);
    if (verb->command && optind < argc)
        args->command = argv + optind;
    code = check_limit(args);
    if (code == 0)
        code = check_observe(args);
    if (code == 0)
        code = check_grant(args);
    return code != 0 ? code : check_kind(args);
}

int args_parse(int argc, char **argv, struct args *ret)
{
    struct grammar grammar;
    struct args    args = {
           .wait_ms = -1,
           .busy_exit = EXIT_BUSY,
           .signal = SIGTERM,
           .grace_ms = 5000,
    };

    if (argc < 2) {
        complain("nothing to do; try `holdfast run NAME -- COMMAND` or `holdfast help`");
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        word = "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        word = "version";
    args.verb = verb_find(word);
    if (args.verb == NULL) {
        complain("there is no verb \"%s\"; `holdfast help` lists them", word);
        return EXIT_USAGE;
    }
    if (args.verb->bit == IN_TRY)
        args.wait_ms = 0;

    make_grammar(args.verb, &grammar);
    opterr = 0;
    int code = take_all(argc - 1, argv + 1, &grammar, &args);
    if (code == 0)
        *ret = args;
    else
        args_finish(&args);
    return code;
}

void args_finish(struct args *args)
{
    if (args->url != NULL) /* it may hold a password */
        explicit_bzero(args->url, strlen(args->url));
    free(args->url);
    args->url = NULL;
}
