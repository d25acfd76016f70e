/* bench.h - bench: what its files share.
 *
 * A client is a process of its own with one session, as a program that uses locks is.  The
 * parent takes no lock: it starts the clients, looks who is in line, and tells the figures.
 *
 *                go: closed by the parent      leash: the same
 *     fork --> ready ------------> measuring ------------------> gives back, ends
 *                                      |                                ^
 *                                      +--- the time is over, or -------+
 *                                           something went wrong
 *
 * A pipe that is closed tells all of them at once, and also if the parent is killed: so
 * nothing stays in line.  Figures are counted in memory that they share.
 */
#ifndef BENCH_H
#define BENCH_H

#include "bench_tally.h"
#include "options.h"
#include "signals.h"

#include <holdfast.h>

#include <stdatomic.h>
#include <sys/types.h>

#define BENCH_NAME        "holdfast-bench"
#define BENCH_CLIENTS_MAX 64
#define BENCH_TIME_MAX_MS 60000
#define BENCH_PATIENCE_S \
    20 /* until all of them have had a turn: with that they are ready */

enum bench_scenario {
    BENCH_FREE,     /* one client takes a free lock and gives it back */
    BENCH_HANDOVER, /* clients hand one lock on to each other */
};

/* What is measured in each of them. */
enum bench_what {
    BENCH_TAKE = 0,      /* BENCH_FREE: from the wish to the grant */
    BENCH_GIVE_BACK = 1, /* and from the release to its answer */
    BENCH_PASS = 0,      /* BENCH_HANDOVER: from one's release to another's grant */
    BENCH_WAIT = 1,      /* and from the wish to the grant */
    BENCH_WHATS = 2,
};

/* One client, as it tells of itself. */
struct bench_client {
    struct tally tally[BENCH_WHATS];
    uint64_t     turns;   /* grants that were measured */
    bool         crowded; /* it saw more in line than we are */
    bool         ended;   /* in order */
    int          code;    /* 0, or an exit code, and why */
    char         text[256];
};

/* In memory that all processes of a scenario share. */
struct bench_table {
    _Atomic int64_t     end;      /* of the time; CLOCK_BOOTTIME ns */
    _Atomic int64_t     given_at; /* when its last holder began to give the lock back */
    _Atomic int         giver;    /* and which client that was; -1: none yet */
    struct bench_client client[BENCH_CLIENTS_MAX];
};

/* Why it is over. */
enum bench_end {
    BENCH_BY_TIME,
    BENCH_BY_SIGNAL,
    BENCH_BY_COMPANY, /* somebody else is in line */
    BENCH_BY_ERROR,
};

struct bench {
    const struct args    *args;
    const char           *name;
    const struct signals *signals;
    char                  note[32]; /* of all our places, and of no others */
    int                   clients;  /* of BENCH_HANDOVER */
    int64_t               time_ms;
    char                 *where; /* which store; ours to free */
    struct tally          trip;  /* of questions to the store, and their answers */
    enum bench_end        end;
    int                   signal; /* BENCH_BY_SIGNAL: which */
    int                   code;   /* to exit with */
};

/* The figures of one scenario. */
struct bench_result {
    enum bench_scenario scenario;
    int                 clients;
    int64_t             ns; /* how long it was measured */
    uint64_t            turns;
    struct tally        tally[BENCH_WHATS];
};

/* The two pipes above, and one that the clients write to: a byte from each that is ready,
 * and its end when all have ended. */
struct bench_team {
    int                 clients;
    pid_t               pid[BENCH_CLIENTS_MAX];
    int                 go[2], leash[2], news[2];
    struct bench_table *table;
};

/* ---- bench_client.c ---- */

/* The life of client `number`, which is forked.  Does not return. */
_Noreturn void bench_client_live(const struct bench *bench, struct bench_team *team,
                                 enum bench_scenario scenario, int number);

/* ---- bench_team.c ---- */

/* 0, or -1 and errno: then there is nothing to end. */
int bench_team_start(const struct bench *bench, enum bench_scenario scenario, int clients,
                     struct bench_team *ret);

/* Let them begin; the time is over at `end`. */
void bench_team_go(struct bench_team *team, int64_t end);

/* Have them give all back and end, and wait for that. */
void bench_team_end(struct bench_team *team);
void bench_team_finish(struct bench_team *team);

/* ---- bench_line.c ---- */

/* Is the lock free?  Finds out bench->where, too.  This and the next return 0, or an exit
 * code after having complained. */
int bench_line_free(struct bench *bench);

/* How long do questions to the store take?  Adds to bench->trip. */
int bench_line_ask(struct bench *bench, struct hf_client *client);

/* Somebody else is in line: complains about that.  What fails is in bench->end, too. */
bool bench_line_crowded(struct bench *bench, struct hf_client *client);

/* ---- bench_run.c ---- */

/* Do one scenario.  bench->end tells why it ended. */
void bench_run(struct bench *bench, enum bench_scenario scenario,
               struct bench_result *ret);

/* ---- bench_show.c, bench_json.c ---- */

void bench_show_head(const struct bench *bench);
void bench_show(const struct bench_result *result);
void bench_show_meaning(const struct bench *bench, const struct bench_result *results,
                        size_t count);
void bench_json(const struct bench *bench, const struct bench_result *results,
                size_t count);

#endif
