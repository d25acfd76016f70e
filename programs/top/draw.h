/* draw.h - draws a snapshot and the state of the user interface on a page.
 *
 *     header    the store, whether it is reachable, the numbers of holders and waiters
 *     table     a row for each lock, or the queue of one
 *     details   of the selected row: texts that do not fit its columns, or commands to type
 *     footer    keys, a message, or a question
 *
 * The page depends on the arguments only.
 */
#ifndef DRAW_H
#define DRAW_H

#include "page.h"
#include "top.h"

/* The whole screen.  Returns in how many ms it has to be redrawn because an age changes; -1:
 * never. */
int64_t draw_screen(struct page *page, struct top *top, const struct snapshot *snapshot,
                    size_t width, size_t height);

/* The header and all rows, to be printed. */
void draw_printed(struct page *page, const struct rows *rows,
                  const struct snapshot *snapshot, size_t width);

/* ---- Parts ------------------------------------------------------------------------- */

struct draw {
    struct page           *page;
    const struct snapshot *snapshot;
    size_t                 width, height; /* of the screen; 0: printed, without limit */
    int64_t                changes_ms;    /* as draw_screen() returns it */
};

/* Prints the time since `since`, and notes when that text will change. */
void draw_age(struct draw *draw, char *out, size_t size, int64_t since);

/* At most two lines, and a third if the store cannot be reached. */
void draw_header(struct draw *draw, const struct rows *rows, size_t lines);

/* `height` lines: titles and rows.  `mark`: mark the selected row. */
void draw_table(struct draw *draw, struct rows *rows, size_t height, bool mark);

/* The queue of the open lock, in `height` lines, with commands to type. */
void draw_queue(struct draw *draw, struct top *top, size_t height);

/* All keys, in `height` lines. */
void draw_help(struct draw *draw, size_t height);

/* The open question, if any, else a message or the keys. */
size_t draw_footer_lines(const struct top *top);
void   draw_footer(struct draw *draw, const struct top *top, size_t lines);

/* Add empty lines until the page has so many. */
void draw_blank(struct draw *draw, size_t lines);

#endif
