/* rows.h - the locks that are shown, in their order, and which of them is chosen.
 *
 * The chosen one is known by its name: it stays the same when rows move.  While it is not
 * there, the row that came to its place is.  Until somebody chooses, it is the first.
 */
#ifndef ROWS_H
#define ROWS_H

#include "board.h"

#define ROWS_FILTER 2048

struct rows {
    const struct board_line **row; /* of the board, as long as that does not change */
    size_t                    count, room;
    char                      filter[ROWS_FILTER];
    bool                      typed; /* see rows_filter() */
    char                     *chosen;
    size_t                    at;    /* where it is, < count if there are any */
    size_t                    first; /* on the screen */
};

void rows_finish(struct rows *rows);

/* Which are shown.  A pattern is matched against whole names, as by `list`; what is typed
 * and has none of * ? [ is looked for anywhere in the name, holder, command and note. */
void rows_filter(struct rows *rows, const char *filter, bool typed);

/* Take what the board has now.  To be called after every change of it: the rows are the
 * board's. */
void rows_take(struct rows *rows, const struct board *board, int64_t now);

/* Choose the row so many further down, as far as there are any. */
void rows_move(struct rows *rows, long by);

/* Scroll, so that the chosen one is among `height` rows. */
void rows_scroll(struct rows *rows, size_t height);

/* NULL: there is none. */
const struct board_line *rows_chosen(const struct rows *rows);

#endif
