/* cli_options.c - see cli_options.h. */
#include "cli_options.h"

#include <string.h>

const struct verb verb_table[] = {
    { IN_RUN, "run", "NAME [--] COMMAND...", "run a command while holding a lock",
      "Waits for its turn, runs COMMAND, and releases the lock when COMMAND and\n"
      "everything it started have ended.  If holdfast is killed, or the lock is lost,\n"
      "that whole tree of processes is ended.\n"
      "COMMAND finds HOLDFAST_TOKEN, HOLDFAST_NAME and HOLDFAST_SLOT in its\n"
      "environment.",
      1, 1, true, true, run_main },
    { IN_TRY, "try", "NAME [--] COMMAND...",
      "the same, but only if the lock is free: run -n", NULL, 1, 1, true, true,
      run_main },
    { IN_HOLD, "hold", "NAME", "hold a lock until stdin ends or a signal comes", NULL, 1,
      1, false, true, hold_main },
    { IN_ELECT, "elect", "NAME [--] COMMAND...", "run a command while being the leader",
      "Takes part in the election of NAME, and runs COMMAND while it leads, as `run`\n"
      "does.  When the leadership is lost COMMAND is ended; holdfast queues again, and\n"
      "runs it again when elected again.  When COMMAND ends by itself, so does\n"
      "holdfast, unless --again is given.\n"
      "With --observe there is no COMMAND: it prints a line when the leader changes.",
      1, 1, true, true, elect_main },
    { IN_SERVE, "serve", "", "hold locks for a program, by lines of JSON",
      "For programs in other languages than C: one process holds as many locks as\n"
      "the program wants.  Requests are read from stdin, events written to stdout.\n"
      "When stdin or stdout is closed, all locks are released.",
      0, 0, false, false, serve_main },
    { IN_LIST, "list", "[PATTERN]", "list locks in use",
      "PATTERN is matched against whole names, as the shell matches file names.", 0, 1,
      false, true, list_main },
    { IN_SHOW, "show", "NAME", "show who holds a lock and who waits for it", NULL, 1, 1,
      false, true, show_main },
    { IN_WATCH, "watch", "[NAME]", "print a line for each event of a lock, or of all",
      NULL, 0, 1, false, true, watch_main },
    { IN_HISTORY, "history", "[NAME]", "print what has happened to a lock, or to all",
      "A file keeps the last 1000 events of all its locks.  Redis, PostgreSQL and\n"
      "MariaDB keep them once somebody has turned that on, for all users of the\n"
      "store: `holdfast history --keep 1000`.  ZooKeeper keeps none.",
      0, 1, false, true, history_main },
    { IN_TOP, "top", "[PATTERN]", "show all locks, live, on the terminal",
      "Locks that block others most come first.  ? shows the keys.  PATTERN is matched\n"
      "against whole names, as by `list`.",
      0, 1, false, true, top_main },
    { IN_WEB, "web", "", "show all locks, live, as a page for browsers",
      "It prints the address to open; a secret in it lets this browser in.\n"
      "Nothing can be changed there unless --allow-ask or --allow-break says so.",
      0, 0, false, false, web_main },
    { IN_WAIT, "wait", "NAME", "wait until nobody holds a lock, and take nothing",
      "Somebody else may take it a moment later: to work under it, use `run`.", 1, 1,
      false, true, wait_main },
    { IN_BREAK, "break", "NAME", "take a lock away from its holder",
      "Takes away exactly the place shown, never a later one.\n"
      "The holder finds the lock lost and ends its command.",
      1, 1, false, true, break_main },
    { IN_ASK, "ask", "NAME", "ask the holder of a lock to give it up",
      "Nothing is taken away: the holder decides.", 1, 1, false, true, ask_main },
    { IN_CHECK, "check", "[NAME]", "tell whether a lock is still held",
      "For a command under `run`: NAME, the token and the store are those of its own\n"
      "lock.  Exits 0 if it is still held, 79 if not, 69 if the store cannot tell.",
      0, 1, false, true, check_main },
    { IN_FENCE, "fence", "FILE [-- COMMAND...]",
      "refuse a file to holders that came too late",
      "For a command under `run`: claims FILE, or a folder, with HOLDFAST_TOKEN.  From\n"
      "then on lower tokens are refused: exits 79 if there was a higher one before.\n"
      "Call it before you read FILE, and change FILE by COMMAND: later holders wait\n"
      "until COMMAND and everything it started has ended.  FILE.fence has the token.",
      1, 1, true, false, fence_main },
    { IN_DOCTOR, "doctor", "[NAME]", "check the store, and say what is wrong",
      "Exits 0 if it finds no fault, 78 if it does, 69 if the store cannot be reached.",
      0, 1, false, true, doctor_main },
    { IN_BENCH, "bench", "[NAME]", "measure how fast locks are on this store",
      "One client takes a free lock and gives it back; then several hand it on to each\n"
      "other.  The lock is NAME, or holdfast-bench, and must not be in use: exits 75 if\n"
      "somebody else holds it or waits for it, then or later.",
      0, 1, false, true, bench_main },
    { IN_INIT, "init", "", "prepare a store for use",
      "A PostgreSQL database needs a schema.  The first client makes it, if it may;\n"
      "otherwise an administrator runs the SQL of --print.  In ZooKeeper init makes\n"
      "the chroot, and in the file store the files, with ?group=NAME for a group.\n"
      "With --system, as root: the store that all members of GROUP share.",
      0, 0, false, false, init_main },
    { IN_VERSION, "version", "", "print the version", NULL, 0, 0, false, false,
      version_main },
    { IN_HELP, "help", "[VERB]", "print help, on everything or on one verb", NULL, 0, 1,
      false, false, help_main },
    { IN_COMPLETION, "completion", "bash|zsh|fish", NULL,
      "Prints a script that completes holdfast's command line in that shell.", 1, 3,
      false, false, completion_main },
    { IN_GUARDIAN, "guardian", "", NULL,
      "Programs with HF_GUARDIAN start it; do not start it by hand.", 0, 0, false, false,
      guardian_main },
};

const size_t verb_count = sizeof verb_table / sizeof *verb_table;

#define TAKING  (IN_RUN | IN_TRY | IN_HOLD)
#define CHILD   (IN_RUN | IN_TRY | IN_ELECT)
#define HOLDING (TAKING | IN_ELECT | IN_SERVE)
#define LOOKING                                                                          \
    (IN_LIST | IN_SHOW | IN_WATCH | IN_WAIT | IN_BREAK | IN_ASK | IN_CHECK | IN_DOCTOR | \
     IN_INIT | IN_HISTORY | IN_TOP | IN_WEB | IN_BENCH)
#define TRACING ((HOLDING | LOOKING) & ~(unsigned)(IN_TOP | IN_WEB | IN_BENCH))

const struct option_row option_table[] = {
    { IN_RUN | IN_HOLD | IN_WAIT | IN_FENCE, 'n', "nonblock", NULL,
      "do not wait if somebody holds it" },
    { IN_RUN | IN_HOLD | IN_ELECT | IN_WAIT | IN_CHECK | IN_DOCTOR | IN_FENCE, 'w',
      "wait", "TIME", "wait for this time at most: 2.5, 500ms, 2m, 1h" },
    { TAKING, 's', "shared", NULL, "share it with other -s, exclude -x" },
    { TAKING, 'x', "exclusive", NULL, "exclude both -s and -x on this name" },
    { TAKING, OPT_SLOTS, "slots", "N", "allow N holders at a time" },
    { TAKING, OPT_WEIGHT, "weight", "W", "take W of the --slots instead of 1" },
    { TAKING, OPT_CLAIM, "claim", NULL, "no queue: when it is free, the first gets it" },
    { TAKING | IN_WAIT, 'E', "conflict-exit-code", "N",
      "exit with N instead of 75 if others hold it" },
    { IN_RUN | IN_HOLD, OPT_MAX_WAITERS, "max-waiters", "N",
      "do not queue if N are waiting already" },
    { IN_RUN | IN_TRY, OPT_ALSO_FLOCK, "also-flock", "FILE",
      "then take flock(2) on FILE, too, as old scripts do" },
    { CHILD, 'c', "command", "STRING",
      "the command is STRING, run by $SHELL or /bin/sh" },
    { HOLDING, OPT_NOTE, "note", "TEXT", "show TEXT to others who look" },
    { CHILD, OPT_SHOW_COMMAND, "show-command", NULL,
      "show its arguments also where others can look" },
    { CHILD, OPT_SIGNAL, "signal", "SIGNAL", "ask the command to end by SIGNAL (TERM)" },
    { CHILD, OPT_GRACE, "grace", "TIME", "how long it then has until it is killed (5s)" },
    { CHILD, OPT_HOLD_AT_LEAST, "hold-at-least", "TIME",
      "keep the lock for TIME, even if it ends earlier" },
    { CHILD, OPT_MAX_RUN, "max-run", "TIME", "end the command after TIME, exit 124" },
    { CHILD, OPT_LEFTOVERS, "leftovers", "WHAT",
      "wait for, end or leave its leftovers (wait)" },
    { CHILD, 'o', "close", NULL, "do not let it inherit the lock's descriptors" },
    { CHILD, OPT_ON_ASK, "on-ask", "SIGNAL", "signal the command when asked to yield" },
    { IN_HOLD, OPT_YIELD, "yield", NULL, "release it when asked to" },
    { IN_ELECT, OPT_AGAIN, "again", NULL, "queue again also when the command ends" },
    { IN_ELECT, OPT_OBSERVE, "observe", NULL, "take no part, print who leads" },
    { TAKING | IN_ELECT, OPT_STATUS_FD, "status-fd", "N",
      "write events to descriptor N, as JSON" },
    { IN_SERVE, OPT_STDIO, "stdio", NULL, "serve the program at stdin and stdout" },
    { IN_ASK, OPT_REASON, "reason", "TEXT", "tell the holder why" },
    { IN_BREAK | IN_CHECK, OPT_TOKEN, "token", "TOKEN", "the place with this token" },
    { IN_FENCE, OPT_TOKEN, "token", "TOKEN", "instead of $HOLDFAST_TOKEN" },
    { IN_BREAK, 'y', "yes", NULL, "do not ask" },
    { IN_INIT, OPT_PRINT, "print", NULL, "write SQL to stdout, do nothing" },
    { IN_INIT, OPT_GRANT, "grant", "ROLE", "with --print: let ROLE use it" },
    { IN_INIT, OPT_GROUP, "group", "GROUP",
      "with --system: share it with GROUP (holdfast)" },
    { IN_HISTORY, OPT_SINCE, "since", "TIME", "only events of the last TIME: 15m, 2h" },
    { IN_HISTORY, OPT_KEEP, "keep", "N",
      "only set how many events the store keeps; 0: none" },
    { IN_TOP, OPT_ONCE, "once", NULL, "print it once, as text, and exit" },
    { IN_WEB, OPT_LISTEN, "listen", "WHERE", "HOST:PORT or unix:PATH (127.0.0.1:7171)" },
    { IN_WEB, OPT_HOST, "host", "NAME", "another name for browsers, as behind a proxy" },
    { IN_WEB, OPT_METRICS, "metrics", "WHERE", "serve /metrics, and that alone, there" },
    { IN_WEB, OPT_ALLOW_ASK, "allow-ask", NULL, "let the page ask for locks" },
    { IN_WEB, OPT_ALLOW_BREAK, "allow-break", NULL, "let the page break locks" },
    { IN_BENCH, OPT_CLIENTS, "clients", "N",
      "number of clients that hand it on, 2 to 64 (4)" },
    { IN_BENCH, OPT_TIME, "time", "TIME", "how long each part takes, 60s at most (3s)" },
    { CHILD, OPT_METRICS_FILE, "metrics-file", "FILE",
      "write metrics to FILE, for Prometheus" },
    { IN_LIST | IN_SHOW | IN_WATCH | IN_HISTORY | IN_TOP | IN_ELECT | IN_DOCTOR |
          IN_BENCH | IN_VERSION,
      OPT_JSON, "json", NULL, "write JSON" },
    { HOLDING | LOOKING, OPT_URL, "url", "URL",
      "the store to use instead of $HOLDFAST_URL" },
    { HOLDING | LOOKING, OPT_URL_FILE, "url-file", "FILE",
      "the same, from the first line of FILE" },
    { HOLDING | LOOKING, OPT_SYSTEM, "system", NULL,
      "use the locks of the whole machine: --url system:" },
    { HOLDING | IN_WAIT, 'q', "quiet", NULL,
      "print only errors, and leftover processes" },
    { TRACING, 'v', "verbose", NULL, "print every request to the store" },
    { ~0u, 'h', "help", NULL, "print help on this verb" },
};

const size_t option_count = sizeof option_table / sizeof *option_table;

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < verb_count; i++)
        if (strcmp(name, verb_table[i].name) == 0)
            return &verb_table[i];
    return NULL;
}
