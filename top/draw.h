/* draw.h - makes pages: of what is seen, and of where a person is in it.
 *
 *     header    the store, how it is reached, what is held and waited for
 *     table     a row for each lock, or the ladder of one
 *     details   of the chosen row: what does not fit its columns, or what to type
 *     footer    keys, a message, or a question
 *
 * It is pure: what is seen, the width and the height make the page.
 */
#ifndef DRAW_H
#define DRAW_H

#include "page.h"
#include "top.h"

/* The whole screen.  Returns in how many ms it will look different because time has passed;
 * -1: never. */
int64_t draw_screen(struct page *page, struct top *top, const struct sight *sight,
                    size_t width, size_t height);

/* The header and all rows, for paper. */
void draw_paper(struct page *page, const struct rows *rows, const struct sight *sight,
                size_t width);

/* ---- Parts ------------------------------------------------------------------------- */

/* What is being drawn. */
struct draw {
    struct page        *page;
    const struct sight *sight;
    size_t              width, height; /* of all; 0: of paper, which has no end */
    int64_t             changes_ms;    /* as draw_screen() returns it */
};

/* An age, from a time until now; notes when it will look different. */
void draw_age(struct draw *draw, char *out, size_t size, int64_t since);

/* At most two lines, and a third if the store cannot be reached. */
void draw_header(struct draw *draw, const struct rows *rows, size_t lines);

/* `height` lines: titles and rows.  `mark`: of the chosen one. */
void draw_table(struct draw *draw, struct rows *rows, size_t height, bool mark);

/* The ladder of the open line, in `height` lines, with what to type. */
void draw_ladder(struct draw *draw, struct top *top, size_t height);

/* All keys, in `height` lines. */
void draw_help(struct draw *draw, size_t height);

/* The question that is open, if any, else a message or the keys. */
size_t draw_footer_lines(const struct top *top);
void   draw_footer(struct draw *draw, const struct top *top, size_t lines);

/* Lines with nothing, until the page has so many. */
void draw_blank(struct draw *draw, size_t lines);

#endif
