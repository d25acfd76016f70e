/* history.h - what a process of `make chaos` writes down; README.md has the format.
 *
 * A line is written with one write(), so a process that is killed leaves whole lines.  The
 * last instruction of a turn is no line: it is stored in memory that is shared with a
 * file, and outlives the process, too.
 */
#ifndef HF_TEST_CHAOS_HISTORY_H
#define HF_TEST_CHAOS_HISTORY_H

#include <stdatomic.h>
#include <stdint.h>

struct history {
    int          fd;
    const char  *who;
    struct last *last; /* for each turn */
    const char  *folder;
    atomic_long  turn; /* the present one */
};

/* When a turn's owner last ran while the lock was its own, and its deadline as of then.
 * 0: no such thing. */
struct last {
    int64_t when, deadline;
};

#define HISTORY_TURNS (1 << 20)
#define HISTORY_NEVER INT64_MAX /* a deadline */

/* Both strings are lent as long as the history is open.  The lines go to FOLDER/FILE.jsonl,
 * the last instructions to FOLDER/WHO.last. */
int  history_open(struct history *history, const char *folder, const char *file,
                  const char *who);
void history_close(struct history *history);

/* CLOCK_BOOTTIME, ns. */
int64_t history_now(void);

/* Append a line.  `format` makes the members after "e" and "t", and begins with a comma,
 * or is empty. */
void history_add(struct history *history, const char *event, int64_t when,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A deadline as JSON; the text is static, one for each thread. */
const char *history_deadline(int64_t deadline);

#endif
