/* cli_options.h - a table of all verbs, and one of all options.
 *
 * Parsing, help and completions are made from these tables, and a test compares the man
 * page with them, so they cannot drift apart.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "run/leftovers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct args;

struct verb {
    unsigned    bit;
    const char *name;
    const char *operands; /* for the synopsis */
    const char *summary;  /* one line; NULL: a hidden verb */
    const char *details;  /* a paragraph or two for its help */
    int         least;    /* operands needed */
    int         most;     /* operands allowed; a command does not count */
    bool        command;  /* a command follows the operands; in `fence`, it may */
    bool        names;    /* the first operand is the name of a lock */
    int (*run)(const struct args *args);
};

struct option_row {
    unsigned    verbs;
    int         id;    /* the letter, or a number above 255 if there is none */
    const char *name;  /* --name */
    const char *value; /* what its argument is called; NULL: it takes none */
    const char *help;
};

enum verb_bit {
    IN_RUN = 1 << 0,
    IN_TRY = 1 << 1,
    IN_HOLD = 1 << 2,
    IN_LIST = 1 << 3,
    IN_SHOW = 1 << 4,
    IN_WATCH = 1 << 5,
    IN_BREAK = 1 << 6,
    IN_VERSION = 1 << 7,
    IN_HELP = 1 << 8,
    IN_COMPLETION = 1 << 9,
    IN_ELECT = 1 << 10,
    IN_ASK = 1 << 11,
    IN_CHECK = 1 << 12,
    IN_DOCTOR = 1 << 13,
    IN_INIT = 1 << 14,
    IN_WAIT = 1 << 15,
    IN_GUARDIAN = 1 << 16,
    IN_HISTORY = 1 << 17,
    IN_TOP = 1 << 18,
    IN_WEB = 1 << 19,
    IN_BENCH = 1 << 20,
    IN_FENCE = 1 << 21,
    IN_SERVE = 1 << 22,
};

enum option_id {
    OPT_SLOTS = 256,
    OPT_WEIGHT,
    OPT_CLAIM,
    OPT_NOTE,
    OPT_URL,
    OPT_URL_FILE,
    OPT_SIGNAL,
    OPT_GRACE,
    OPT_JSON,
    OPT_TOKEN,
    OPT_MAX_WAITERS,
    OPT_ON_ASK,
    OPT_YIELD,
    OPT_AGAIN,
    OPT_OBSERVE,
    OPT_REASON,
    OPT_PRINT,
    OPT_GRANT,
    OPT_LEFTOVERS,
    OPT_SHOW_COMMAND,
    OPT_MAX_RUN,
    OPT_HOLD_AT_LEAST,
    OPT_STATUS_FD,
    OPT_SYSTEM,
    OPT_GROUP,
    OPT_SINCE,
    OPT_ONCE,
    OPT_LISTEN,
    OPT_HOST,
    OPT_METRICS,
    OPT_ALLOW_ASK,
    OPT_ALLOW_BREAK,
    OPT_METRICS_FILE,
    OPT_CLIENTS,
    OPT_TIME,
    OPT_KEEP,
    OPT_STDIO,
    OPT_ALSO_FLOCK,
};

extern const struct verb       verb_table[];
extern const size_t            verb_count;
extern const struct option_row option_table[];
extern const size_t            option_count;

const struct verb *verb_find(const char *name);

/* A parsed command line.  Strings are argv's but for `url`. */
struct args {
    const struct verb *verb;
    const char        *operand[3]; /* NULL: there are no more; the first is often NAME */
    char             **command;    /* NULL-terminated, or NULL */
    char              *shell_string; /* -c: a shell runs this; or NULL */

    int64_t        wait_ms;  /* 0: do not wait; negative: for ever */
    bool           nonblock; /* -n: then wait_ms is 0 */
    bool           shared;
    bool           exclusive;
    bool           claim;
    uint32_t       slots;       /* 0: not given */
    uint32_t       weight;      /* 0: not given */
    uint32_t       max_waiters; /* 0: no limit */
    int            busy_exit;
    const char    *note;
    char          *url; /* ours to free; NULL: not given */
    int            signal;
    int64_t        grace_ms;
    int64_t        hold_at_least_ms;
    int64_t        max_run_ms; /* 0: no limit */
    enum leftovers leftovers;
    bool           close;
    int            on_ask;     /* signal for the command; 0: none */
    int            status_fd;  /* 0: none */
    const char    *also_flock; /* NULL: not given */
    bool           yield;
    bool           again;
    bool           observe;
    const char    *reason; /* NULL: not given */
    bool           quiet;
    bool           verbose;
    bool           json;
    bool           yes;
    bool           print;
    bool           show_command;
    bool           system;   /* the parser sets `url` then */
    const char    *grant;    /* NULL: not given */
    const char    *group;    /* NULL: not given */
    uint64_t       token;    /* 0: not given */
    int64_t        since_ms; /* 0: not given */
    int64_t        keep;     /* -1: not given */
    bool           once;
    bool           stdio;
    const char    *listen; /* NULL: not given; the same for those that follow */
    const char    *host;
    const char    *metrics;
    const char    *metrics_file;
    bool           allow_ask;
    bool           allow_break;
    const char    *clients;
    const char    *time;
    bool           help;
};

/* 0, or an exit code after having complained.  A password in a --url is wiped
 * from argv, where ps(1) would show it. */
int  args_parse(int argc, char **argv, struct args *ret);
void args_finish(struct args *args);

int run_main(const struct args *args);
int hold_main(const struct args *args);
int elect_main(const struct args *args);
int observe_main(const struct args *args);
int list_main(const struct args *args);
int show_main(const struct args *args);
int watch_main(const struct args *args);
int wait_main(const struct args *args);
int break_main(const struct args *args);
int ask_main(const struct args *args);
int check_main(const struct args *args);
int serve_main(const struct args *args);
int fence_main(const struct args *args);
int doctor_main(const struct args *args);
int init_main(const struct args *args);
int version_main(const struct args *args);
int help_main(const struct args *args);
int completion_main(const struct args *args);
int guardian_main(const struct args *args);
int history_main(const struct args *args);
int top_main(const struct args *args);
int web_main(const struct args *args);
int bench_main(const struct args *args);

/* Help on one verb, or with NULL on all, to stdout. */
void help_print(const struct verb *verb);

#endif
