/* turns.h - a process writes down its turns on locks, and test/chaos/check.py judges the
 * histories of all of them; test/chaos/README.md has the format.
 *
 *     turns_take(&history, lock, "name", 1, 1, limit_ms);
 *     while (turns_act(&history, lock)) ...                 as often as it acts as the holder
 *     turns_give(&history, lock);
 *
 * A line is written with one write(), so a process that is killed leaves whole lines.  The
 * last instruction of a turn is no line: it is stored in memory that is shared with a
 * file, and outlives the process, too.
 */
#ifndef HF_TEST_TURNS_H
#define HF_TEST_TURNS_H

#include "holdfast.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct turns {
    int          fd;
    char         who[64];
    struct last *last; /* for each turn */
    const char  *folder;
    atomic_long  turn; /* the present one; 0: none yet */
};

/* When a turn's owner last ran while the lock was its own, and its deadline as of then.
 * 0: no such thing. */
struct last {
    int64_t when, deadline;
};

#define TURNS_MAX   (1 << 20)
#define TURNS_NEVER INT64_MAX /* a deadline */

/* The folder is lent as long as the history is open.  The lines go to FOLDER/FILE.jsonl, the
 * last instructions to FOLDER/WHO.last. */
int  turns_open(struct turns *history, const char *folder, const char *file,
                const char *who);
void turns_close(struct turns *history);

/* CLOCK_BOOTTIME, ns. */
int64_t turns_now(void);

/* ---- Lines: of the present turn ----------------------------------------------------------- */

/* Any.  `format` makes the members after "n", and begins with a comma, or is empty. */
void turns_add(struct turns *history, const char *event, int64_t when, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

void turns_want(struct turns *history, const char *lock, uint32_t weight,
                uint32_t capacity); /* begins the next turn */
void turns_place(struct turns *history);
void turns_grant(struct turns *history, uint64_t token); /* 0: there is none */
void turns_fail(struct turns *history, const char *result);
void turns_lost(struct turns *history);
void turns_release(struct turns *history, int64_t begun, int result);
void turns_end(struct turns *history); /* of the process */

/* The owner acts, under a lock that has no deadline. */
void turns_touch(struct turns *history);

/* ---- Turns with the library --------------------------------------------------------------- */

/* Is the lock ours?  Then that is stored as the last instruction so far. */
bool turns_act(struct turns *history, struct hf_lock *lock);

/* It was granted.  `requeued`: its session was lost while it waited. */
void turns_granted(struct turns *history, struct hf_lock *lock, bool requeued);

/* As hf_acquire() and hf_release(), in a turn of its own. */
int turns_take(struct turns *history, struct hf_lock *lock, const char *name,
               uint32_t weight, uint32_t capacity, int64_t limit_ms);
int turns_give(struct turns *history, struct hf_lock *lock);

/* ---- The judge -------------------------------------------------------------------------------- */

/* A new folder for histories; the text is the caller's. */
char *turns_folder(void);

/* What check.py says of all histories in the folder, which is removed: true, or it has printed
 * what is wrong.  The working folder must be the top of the tree, as it is for all tests. */
bool turns_judge(char *folder);
void turns_forget(char *folder); /* only remove it */

#endif
