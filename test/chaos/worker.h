/* worker.h - what the files of a worker share; see worker.c. */
#ifndef HF_TEST_CHAOS_WORKER_H
#define HF_TEST_CHAOS_WORKER_H

#include "history.h"
#include "holdfast.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { MUTEX, OTHER_MUTEX, READER, WRITER, ONE_SLOT, TWO_SLOTS, KINDS };

extern const struct kind {
    const char *lock, *kind;
    uint32_t    weight, capacity;
    unsigned    often; /* of 100 turns */
    bool        writes;
} worker_kinds[KINDS];

extern struct worker {
    const char       *url, *style, *holdfast, *self;
    struct history    history;
    struct hf_client *client;
    struct hf_lock   *lock[KINDS];
    int               fence[KINDS];
    unsigned          seed;
    atomic_bool       ending;
    atomic_long       placed; /* the turn whose place was written down */
} worker;

void must(bool ok, const char *what, const char *why); /* else the process ends */

/* Less than that, at random. */
unsigned dice(unsigned sides);

void nap(unsigned us);

/* How long to hold a lock: mostly short; sometimes so long that the lease has to be renewed. */
unsigned pick_us(void);

/* Lines of the history. */
void write_down_want(long turn, const struct kind *kind);
void write_down_write(struct history *history, long turn, int fd, uint64_t token);

/* turn.c: with the library. */
void take_turn(long turn);
void on_place(struct hf_lock *lock, int64_t ahead, void *data);

/* run_turn.c: by `holdfast run`, and the command there. */
void take_turn_by_run(long turn);
int  be_command(char **argv);

#endif
