/* parse.c - reads argv into struct args, by the option table. */
#include "parse.h"

#include "complain.h"

#include <assert.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 64

/* The arguments of getopt_long(), for one verb. */
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

int parse_refuse(const struct verb *verb, const char *what, const char *value)
{
    complain("%s: %s%s%s; see `holdfast help %s`", verb->name, what, value ? " " : "",
             value ? value : "", verb->name);
    return EXIT_USAGE;
}

static int refuse_option(const struct verb *verb, const char *word)
{
    complain("%s: there is no option %s%s; see `holdfast help %s`", verb->name, word,
             hint_option(verb, word), verb->name);
    return EXIT_USAGE;
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
            return parse_refuse(args->verb, "an argument is missing after",
                                is_letter ? letter : word);
        if (id == '?')
            return refuse_option(args->verb, is_letter ? letter : word);
        int code = parse_option(args, id, optarg);
        if (code != 0)
            return code;
    }
}

/* As flock(1) does it. */
static char **shell_command(char *string)
{
    static char *command[4]; /* it lives as long as argv does */
    char        *shell = getenv("SHELL");

    command[0] = shell != NULL && *shell != '\0' ? shell : "/bin/sh";
    command[1] = "-c";
    command[2] = string;
    return command;
}

/* `rest`: what follows NAME. */
static int take_command(char **rest, struct args *args)
{
    if (args->shell_string != NULL && *rest != NULL)
        return parse_refuse(args->verb,
                            "-c takes one word, so put the whole command in quotes: "
                            "there is also",
                            *rest);
    if (args->shell_string != NULL)
        args->command = shell_command(args->shell_string);
    else if (*rest != NULL)
        args->command = rest;
    else if (!args->observe && args->verb->bit != IN_FENCE)
        return parse_refuse(args->verb, "the COMMAND to run is missing", NULL);
    return 0;
}

static int name_system(struct args *args)
{
    bool named = args->group != NULL;

    if (asprintf(&args->url, "system:%s%s", named ? "?group=" : "",
                 named ? args->group : "") < 0) {
        args->url = NULL;
        return complain_errno("--system");
    }
    return 0;
}

/* For a verb with a command, after a "--" and a word: was that word NAME?  If no command
 * follows it, or an option does, it was the command itself. */
static bool has_name(const struct args *args, const char *next)
{
    return args->observe || args->shell_string != NULL || args->verb->bit == IN_FENCE ||
           (next != NULL && (next[0] != '-' || strcmp(next, "--") == 0));
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
            return parse_refuse(verb, "too many arguments, from", argv[optind]);
        args->operand[operands++] = argv[optind++];
        if (ended && verb->command && !has_name(args, argv[optind]))
            return parse_refuse(verb, "the NAME of the lock is missing before \"--\"",
                                NULL);
        if (ended && verb->command && optind < argc && strcmp(argv[optind], "--") == 0)
            optind++;
    }
    if (args->help)
        return 0;
    if (operands < verb->least)
        return parse_refuse(verb,
                            verb->names ? "the NAME of the lock is missing"
                                        : "an argument is missing",
                            NULL);
    code = verb->command ? take_command(argv + optind, args) : 0;
    if (code == 0)
        code = parse_check(args);
    if (args->nonblock)
        args->wait_ms = 0;
    return code == 0 && args->system ? name_system(args) : code;
}

int args_parse(int argc, char **argv, struct args *ret)
{
    struct grammar grammar;
    struct args    args = {
           .wait_ms = -1,
           .busy_exit = EXIT_BUSY,
           .signal = SIGTERM,
           .grace_ms = 5000,
           .keep = -1,
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
    if (args.verb == NULL && *word == '-') { /* without a value: it may be a secret */
        complain("options come after the verb: holdfast VERB %.*s ...; `holdfast help` "
                 "lists the verbs",
                 (int)strcspn(word, "="), word);
        return EXIT_USAGE;
    }
    if (args.verb == NULL) {
        complain("there is no verb \"%s\"%s; `holdfast help` lists them", word,
                 hint_verb(word));
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
