/* sum.h - a line as a whole: how many are in it, what they weigh.
 *
 * Who joins a line is told how many are ahead.  To count them takes long in a long line, so
 * its sum is kept in the database: the *tally*.  Every change of a ticket's row is made by
 * place.c, which notes what the sum changes by; hf_sq_tell_watchers(), where every change of a
 * line ends, puts that into the tally.
 *
 * The tally is a row in `watcher`, where a session asks to be told of the next change of a
 * line: whoever makes a change removes such rows in the same transaction.  So programs that
 * know nothing of tallies remove it when they change the line, and it is made anew.  It says in
 * which boot of the machine it was made: after a power loss the head of PATH-live, by which it
 * is known whether to look into `watcher`, may be older than the rows.
 */
#ifndef HF_SQLITE_SUM_H
#define HF_SQLITE_SUM_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct hf_sq;
struct hf_sq_row;

/* The dead count too, until somebody meets them. */
struct hf_sq_sum {
    uint64_t count;
    uint64_t ahead;   /* of the ticket in question */
    uint64_t waiting; /* not granted */
    uint64_t weight;
    uint64_t last; /* highest seq */
};

/* Of the line that watchers were last told of. */
struct hf_sq_tally {
    bool             there; /* its row is */
    struct hf_sq_sum sum;   /* count is 0 if it is of no use */
};

#define HF_SQ_TALLY_SID 1 /* as its session; none has that number */

/* The whole line, and what is ahead of `seq`, into sq->sum.  Outside a transaction it is
 * called before the rows are read: a change in between then makes the stamp too old, and
 * a WATCH completes too often.  The other way round it would sleep. */
int hf_sq_sum_up(struct hf_sq *sq, const char *line, uint64_t seq);

/* The same without asking: sq->rows is the whole line ahead of a holder's place `mine`. */
void hf_sq_sum_rows(struct hf_sq *sq, const struct hf_sq_row *mine);

/* The same for `mine`, the last place of the line, when the watchers were told of it; and of
 * the line for who has no place in it.  By the tally, if there is one. */
int hf_sq_sum_last(struct hf_sq *sq, const char *line, const struct hf_sq_row *mine);
int hf_sq_sum_outside(struct hf_sq *sq, const char *line);

/* A row of the line was changed, and by this its sum: for place.c.  Is anything noted that is
 * not in the tally yet? */
void hf_sq_sum_note(struct hf_sq *sq, int64_t count, int64_t waiting, int64_t weight);
bool hf_sq_sum_is_noted(const struct hf_sq *sq);

/* Have sq->tally from a column of a query; put what was noted into it, if it is there. */
void hf_sq_tally_read(struct hf_sq *sq, sqlite3_stmt *query, int column);
int  hf_sq_tally_write(struct hf_sq *sq, const char *line);

#endif
