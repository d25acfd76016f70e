/* draw.c - see draw.h: the screen as a whole. */
#include "draw.h"

#include "table.h"
#include "text.h"
#include "words.h"

#include <stdio.h>
#include <string.h>

/* Seconds until text_age() prints another text. */
static int64_t until_older(int64_t age_us)
{
    int64_t s = age_us / 1000000;

    if (s < 3600)
        return 1;
    return s < 24 * 3600 ? 60 - s % 60 : 3600 - s % 3600;
}

void draw_age(struct draw *draw, char *out, size_t size, int64_t since)
{
    int64_t age = draw->snapshot->now - since;
    char    text[TEXT_AGE_MAX];

    age = age < 0 ? 0 : age; /* clocks of two hosts differ */
    snprintf(out, size, "%s", text_age(text, age));
    int64_t ms = until_older(age) * 1000 - age / 1000 % 1000;
    if (!draw->snapshot->paused && (draw->changes_ms < 0 || ms < draw->changes_ms))
        draw->changes_ms = ms;
}

void draw_blank(struct draw *draw, size_t lines)
{
    while (draw->page->lines < lines) {
        size_t before = draw->page->lines;
        page_line(draw->page, PAGE_PLAIN);
        if (draw->page->lines == before)
            return; /* no memory */
    }
}

/* Texts that do not fit the columns of the selected row. */
static void draw_details(struct draw *draw, const struct lock *lock)
{
    const struct hf_entry *holder = lock != NULL ? lock->holder : NULL;
    char                   text[TABLE_TEXT];

    page_line(draw->page, PAGE_FAINT);
    if (holder == NULL)
        return;
    words_what(text, sizeof text, holder);
    if (*text != '\0') {
        page_put(draw->page, PAGE_FAINT, " runs: ");
        page_put(draw->page, PAGE_PLAIN, text);
    }
    text_clean(text, sizeof text, holder->note);
    if (*text != '\0') {
        page_put(draw->page, PAGE_FAINT, "  note: ");
        page_put(draw->page, PAGE_PLAIN, text);
    }
}

int64_t draw_screen(struct page *page, struct top *top, const struct snapshot *snapshot,
                    size_t width, size_t height)
{
    struct draw draw = { page, snapshot, width, height, -1 };

    page_begin(page, width > 0 ? width : 1);
    size_t footer = draw_footer_lines(top);
    if (footer > height)
        footer = height;
    size_t rest = height - footer;
    size_t header = rest >= 4 ? 2 : rest > 1 ? 1 : rest;
    /* If the store was never reached, the table gives the reason: it has more room. */
    header += rest >= 6 && !snapshot->reachable && *snapshot->why != '\0' &&
              snapshot->as_of > 0;
    draw_header(&draw, &top->rows, header);
    rest -= header;
    if (top->mode == TOP_HELP) {
        draw_help(&draw, rest);
    } else if (top->opened != NULL) {
        draw_queue(&draw, top, rest);
    } else {
        size_t details = rest >= 5;
        draw_table(&draw, &top->rows, rest - details, true);
        top->page = rest - details > 1 ? rest - details - 1 : 1;
        draw_blank(&draw, height - footer - details);
        if (details)
            draw_details(&draw, rows_selected(&top->rows));
    }
    draw_blank(&draw, height - footer);
    draw_footer(&draw, top, footer);
    /* The ages of many rows change at many times: redraw once a second at most. */
    return draw.changes_ms >= 0 && draw.changes_ms < 1000 ? 1000 : draw.changes_ms;
}

void draw_printed(struct page *page, const struct rows *rows,
                  const struct snapshot *snapshot, size_t width)
{
    struct draw draw = { page, snapshot, width, 0, -1 };
    struct rows all = *rows; /* from the first row, none selected */

    page_begin(page, width);
    draw_header(&draw, rows, 2);
    all.first = 0;
    all.at = all.count;
    draw_table(&draw, &all, rows->count + 1, false);
}
