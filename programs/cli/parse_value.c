/* parse_value.c - reads the values of options; see parse.h. */
#include "parse.h"

#include "complain.h"
#include "redact.h"
#include "store_url.h"
#include "text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_MAX 100000 /* events */

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
        return bad_value(option, value, "a number of 1 or more");
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

/* For timeout(1) 0 means no limit, for other programs at once.  So it is refused. */
static int take_positive(const char *option, const char *value, int64_t *ret)
{
    int code = take_duration(option, value, ret);

    return code == 0 && *ret == 0 ? bad_value(option, value, "a time above 0") : code;
}

static int take_keep(const char *value, int64_t *ret)
{
    uint64_t number;

    if (!text_parse_number(value, 0, KEEP_MAX, &number))
        return bad_value("keep", value, "a number from 0 to 100000");
    *ret = (int64_t)number;
    return 0;
}

/* Options whose value is kept as it is; the code that uses it checks it. */
static const char **text_of(struct args *args, int id)
{
    switch (id) {
    case OPT_NOTE:
        return &args->note;
    case OPT_REASON:
        return &args->reason;
    case OPT_LISTEN:
        return &args->listen;
    case OPT_HOST:
        return &args->host;
    case OPT_METRICS:
        return &args->metrics;
    case OPT_METRICS_FILE:
        return &args->metrics_file;
    case OPT_ALSO_FLOCK:
        return &args->also_flock;
    case OPT_CLIENTS:
        return &args->clients;
    case OPT_TIME:
        return &args->time;
    default:
        return NULL;
    }
}

static int take_exit_code(const char *value, int *ret)
{
    uint64_t number;

    if (!text_parse_number(value, 0, 255, &number))
        return bad_value("conflict-exit-code", value, "a number from 0 to 255");
    *ret = (int)number;
    return 0;
}

static int take_status_fd(const char *value, int *ret)
{
    uint64_t number;

    if (!text_parse_number(value, 1, INT_MAX, &number))
        return bad_value("status-fd", value, "the number of a descriptor, 1 or more");
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

/* It becomes part of a URL. */
static int take_group(struct args *args, const char *value)
{
    if (*value == '\0' || strpbrk(value, "%&") != NULL)
        return bad_value("group", value, "the name of a group");
    args->group = value;
    return 0;
}

static int take_shell_string(struct args *args, char *value)
{
    if (args->shell_string != NULL)
        return parse_refuse(args->verb, "-c is given twice", NULL);
    args->shell_string = value;
    return 0;
}

/* Options without a value. */
static bool *flag_of(struct args *args, int id)
{
    switch (id) {
    case 'n':
        return &args->nonblock;
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
    case 'o':
        return &args->close;
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
    case OPT_SYSTEM:
        return &args->system;
    case OPT_STDIO:
        return &args->stdio;
    case OPT_ONCE:
        return &args->once;
    case OPT_ALLOW_ASK:
        return &args->allow_ask;
    case OPT_ALLOW_BREAK:
        return &args->allow_break;
    default:
        return NULL;
    }
}

int parse_option(struct args *args, int id, char *value)
{
    bool        *flag = flag_of(args, id);
    const char **text = text_of(args, id);

    if (flag != NULL)
        *flag = true;
    if (text != NULL)
        *text = value;
    if (flag != NULL || text != NULL)
        return 0;
    switch (id) {
    case 'w':
        return take_duration("wait", value, &args->wait_ms);
    case 'E':
        return take_exit_code(value, &args->busy_exit);
    case 'c':
        return take_shell_string(args, value);
    case OPT_SLOTS:
        return take_count("slots", value, &args->slots);
    case OPT_WEIGHT:
        return take_count("weight", value, &args->weight);
    case OPT_URL:
        return take_url(args, value);
    case OPT_URL_FILE:
        return take_url_file(args, value);
    case OPT_SIGNAL:
        return take_signal("signal", value, &args->signal);
    case OPT_GRACE:
        return take_duration("grace", value, &args->grace_ms);
    case OPT_HOLD_AT_LEAST:
        return take_duration("hold-at-least", value, &args->hold_at_least_ms);
    case OPT_MAX_RUN:
        return take_positive("max-run", value, &args->max_run_ms);
    case OPT_TOKEN:
        return take_token(value, &args->token);
    case OPT_MAX_WAITERS:
        return take_count("max-waiters", value, &args->max_waiters);
    case OPT_ON_ASK:
        return take_signal("on-ask", value, &args->on_ask);
    case OPT_LEFTOVERS:
        return take_leftovers(value, &args->leftovers);
    case OPT_STATUS_FD:
        return take_status_fd(value, &args->status_fd);
    case OPT_SINCE:
        return take_positive("since", value, &args->since_ms);
    case OPT_KEEP:
        return take_keep(value, &args->keep);
    case OPT_GRANT:
        return take_role(args, value);
    case OPT_GROUP:
        return take_group(args, value);
    default:
        abort(); /* an option of the table that is missing here */
    }
}
