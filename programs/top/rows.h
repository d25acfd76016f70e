/* rows.h - the locks that are shown, in their order, and the selected one.
 *
 * The selection follows the name when rows move.  If that lock is gone, the row that took its
 * place is selected.  At first it is the first row.
 */
#ifndef ROWS_H
#define ROWS_H

#include "locks.h"

#define ROWS_FILTER 2048

struct rows {
    const struct lock **row; /* point into struct locks, until that changes */
    size_t              count, room;
    char                filter[ROWS_FILTER];
    bool                typed; /* see rows_filter() */
    char               *selected;
    size_t              at;    /* index of the selected row; < count if there are any */
    size_t              first; /* row on the screen */
};

void rows_finish(struct rows *rows);

/* Choose which locks are shown.  A pattern is matched against whole names, as by `list`.  A typed
 * filter without * ? [ is searched for in the name, holder, command and note. */
void rows_filter(struct rows *rows, const char *filter, bool typed);

/* Call this after every change of the locks: the rows point to them. */
void rows_update(struct rows *rows, const struct locks *locks, int64_t now);

/* Move the selection down by so many rows, as far as there are any. */
void rows_move(struct rows *rows, long by);

/* Scroll so that the selected row is among `height` rows. */
void rows_scroll(struct rows *rows, size_t height);

/* NULL: there are no rows. */
const struct lock *rows_selected(const struct rows *rows);

#endif
