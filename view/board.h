/* board.h - all lines of a store, as a survey tells them, ready to be shown. */
#ifndef BOARD_H
#define BOARD_H

#include "past.h"

#include <holdfast.h>

/* One line that somebody is in. */
struct board_line {
    const char             *name;
    const struct hf_report *report; /* its places, at least one */
    size_t                  holders;
    size_t                  waiters;
    const struct hf_entry  *holder;    /* the first; NULL: nobody holds it at present */
    size_t                  holder_at; /* its index */
    int64_t  waits_since;              /* of the longest wait, us since 1970; 0: nobody */
    int64_t  seen;                     /* when it was told; left_ms is as of then */
    uint64_t version;                  /* of the board, when this changed */
    int64_t *left_ms;                  /* of each place, as of `seen` */
};

struct board {
    struct board_line **line; /* sorted by name */
    size_t              count, room;
    size_t              holders, waiters; /* of all lines */
    uint64_t            version;          /* changes so far */
    size_t              most;             /* lines, since memory was handed back */
};

void board_finish(struct board *board);

/* A line looks like this now: empty if nobody is in it.  The report becomes the board's.
 * What changed is added to `past`, unless that is NULL.  false: no memory. */
bool board_take(struct board *board, const char *name, struct hf_report *report,
                int64_t now, struct past *past);

/* Every line that was told after `version` is there, and no other: the rest goes. */
void board_sweep(struct board *board, uint64_t version, int64_t now, struct past *past);

/* When most lines have gone, hand their memory back to the system.  For a caller that has
 * freed its own memory of them, too. */
void board_trim(struct board *board);

/* Leases as they are now, of the places that are as they were: of a look at all lines. */
void board_refresh(struct board *board, const struct hf_report *all, int64_t now);

/* left_ms of the place at that index, as last seen. */
int64_t board_left_ms(const struct board_line *line, size_t place);

const struct board_line *board_find(const struct board *board, const char *name);

/* How much it hurts: waiters times the longest wait, in microseconds. */
double board_pain(const struct board_line *line, int64_t now);

/* All lines, those that hurt most first, then by name.  Room for board->count. */
void board_sort(const struct board *board, int64_t now, const struct board_line **ret);

#endif
