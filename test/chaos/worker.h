/* worker.h - what the files of a worker share; see worker.c. */
#ifndef HF_TEST_CHAOS_WORKER_H
#define HF_TEST_CHAOS_WORKER_H

#include "lib/turns.h"
#include "set.h"

enum { MUTEX, OTHER_MUTEX, READER, WRITER, ONE_SLOT, TWO_SLOTS, SET, FENCED, KINDS };

extern const struct kind {
    const char   *lock;
    uint32_t      weight, capacity;
    unsigned      often;  /* of 100 turns */
    bool          writes; /* to the protected file */
    enum set_kind set;
} worker_kinds[KINDS];

extern struct worker {
    const char       *url, *style, *holdfast, *workload, *self;
    struct turns      history;
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

/* The lock of the next turn: at random, by the workload; with `run` a mutex. */
int pick_kind(void);

/* Is it worth waiting for a minute?  Not for a set, whose holder pauses, while others are free. */
bool is_patient(const struct kind *kind);

/* How long to hold a lock: mostly short; sometimes so long that the lease has to be renewed.
 * With a set up to 2 s, as in Jepsen's tests of etcd. */
unsigned pick_us(const struct kind *kind);

/* Write to the protected file, and write that down.  Returns whether it was accepted. */
bool write_down_write(struct turns *history, int fd, uint64_t token);
bool write_down_rename(struct turns *history, int fd, uint64_t token, const char *from,
                       const char *to);

/* turn.c: with the library. */
void take_turn(void);
void on_place(struct hf_lock *lock, int64_t ahead, void *data);

/* meddle.c: call it before there is any other thread, because it blocks signals. */
void meddle_start(void);

/* run_turn.c: by `holdfast run`, and the command there. */
void take_turn_by_run(void);
int  be_command(char **argv);

#endif
