/* bench.h - holdfast-bench: what its files share.
 *
 * A client is a process of its own with one session, as a program that uses locks is.
 * The parent takes no lock: it starts the clients, looks who else is in the queue, and
 * prints the figures.
 *
 *                go: closed by the parent      leash: the same
 *     fork --> ready ------------> measuring ------------------> releases, ends
 *                                      |                                ^
 *                                      +--- the time is over, or -------+
 *                                           something went wrong
 *
 * Closing a pipe notifies all clients at once.  The kernel also closes it if the parent
 * is killed, so nothing stays in the queue.  Figures are counted in memory that all
 * share.
 */
#ifndef BENCH_H
#define BENCH_H

#include "histogram.h"
#include "signal_fd.h"

#include <holdfast.h>

#include <stdatomic.h>
#include <sys/types.h>

#define BENCH_NAME        "holdfast-bench"
#define BENCH_CLIENTS_MAX 64
#define BENCH_TIME_MAX_MS 60000
#define BENCH_PATIENCE_S  20 /* until every client has had the lock once, and is ready */

enum bench_scenario {
    BENCH_FREE,     /* one client takes a free lock and gives it back */
    BENCH_HANDOVER, /* clients hand one lock on to each other */
};

/* The two times that are measured in a scenario. */
enum bench_what {
    BENCH_TAKE = 0,      /* BENCH_FREE: from the request to the grant */
    BENCH_GIVE_BACK = 1, /* and from the release to its answer */
    BENCH_PASS = 0,      /* BENCH_HANDOVER: from one's release to another's grant */
    BENCH_WAIT = 1,      /* and from the request to the grant */
    BENCH_WHATS = 2,
};

/* One client; it writes, and the parent reads. */
struct bench_client {
    struct histogram histogram[BENCH_WHATS];
    uint64_t         turns;   /* grants that were measured */
    bool             crowded; /* more are in the queue than the bench has clients */
    bool             ended;   /* without having been killed */
    int              code;    /* 0, or an exit code, and why */
    char             text[256];
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
    BENCH_BY_COMPANY, /* somebody else is in the queue */
    BENCH_BY_ERROR,
};

struct bench {
    const char           *name;
    int                   clients; /* of BENCH_HANDOVER */
    int64_t               time_ms;
    bool                  json;
    const struct signals *signals;
    char                  note[32]; /* of all our places, and of no others */
    char                 *where;    /* which store; ours to free */
    struct histogram      trip;     /* of questions to the store, and their answers */
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
    struct histogram    histogram[BENCH_WHATS];
};

/* The two pipes above, and one that the clients write to: a byte from each that is ready,
 * and its end when all have ended. */
struct bench_team {
    int                 clients;
    pid_t               pid[BENCH_CLIENTS_MAX];
    int                 go[2], leash[2], news[2];
    struct bench_table *table;
};

/* ---- client_process.c ---- */

/* The life of client `number`, which is forked.  Does not return. */
_Noreturn void client_live(const struct bench *bench, struct bench_team *team,
                           enum bench_scenario scenario, int number);

/* ---- team.c ---- */

/* 0, or -1 and errno: then there is nothing to end. */
int team_start(const struct bench *bench, enum bench_scenario scenario, int clients,
               struct bench_team *ret);

/* Let them begin; the time is over at `end`. */
void team_go(struct bench_team *team, int64_t end);

/* Have them give all back and end, and wait for that. */
void team_end(struct bench_team *team);
void team_finish(struct bench_team *team);

/* ---- queue.c ---- */

/* Open the store, with the note of the bench.  0, or HF_E..., and `error` tells why. */
int store_try(const struct bench *bench, char *error, size_t size,
              struct hf_client **ret);

/* The same; 0, or an exit code after having complained. */
int store_open(const struct bench *bench, struct hf_client **ret);

/* Is the lock free?  Sets bench->where, too.  This and the next return 0, or an exit code
 * after having complained. */
int queue_check(struct bench *bench);

/* How long does a question to the store take?  Adds to bench->trip. */
int queue_measure_trips(struct bench *bench, struct hf_client *client);

/* Complains if somebody else is in the queue.  bench->end tells if the store failed. */
bool queue_has_others(struct bench *bench, struct hf_client *client);

/* ---- scenario.c ---- */

/* Do one scenario.  bench->end tells why it ended. */
void scenario_run(struct bench *bench, enum bench_scenario scenario,
                  struct bench_result *ret);

/* ---- show.c, show_json.c ---- */

void show_head(const struct bench *bench);
void show_result(const struct bench_result *result);
void show_meaning(const struct bench *bench, const struct bench_result *results,
                  size_t count);
void show_json(const struct bench *bench, const struct bench_result *results,
               size_t count);

#endif
