/* draw_head.c - header, footer and help of a screen. */
#include "draw.h"

#include "text.h"
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Header ------------------------------------------------------------------------- */

static void put_store_line(struct draw *draw, enum page_style style)
{
    const struct snapshot *snapshot = draw->snapshot;
    struct page           *page = draw->page;
    char                   store[1024], right[WORDS_SHORT + 64], time[WORDS_SHORT];
    const char            *state = snapshot->paused      ? "paused"
                                   : snapshot->reachable ? "live"
                                                         : "NOT REACHABLE";

    words_time(time, snapshot->as_of, snapshot->now);
    if (draw->height > 0)
        snprintf(right, sizeof right, "as of %s (%s) ", time, state);
    else
        snprintf(right, sizeof right, "as of %s", time);
    text_clean(store, sizeof store, snapshot->store);
    page_line(page, style);
    page_put(page, style, draw->width >= 60 ? " holdfast  " : " ");
    size_t used = draw->width >= 60 ? 11 : 1, wants = strlen(right) + 2;
    if (draw->width == 0) {
        page_print(page, style, "%s  %s", store, right);
        return;
    }
    if (draw->width > used + wants + 3) {
        text_cut(store, draw->width - used - wants);
        page_put(page, style, store);
        page_to(page, style, draw->width - strlen(right));
        page_put(page, style, right);
    } else {
        page_put(page, style, snapshot->reachable ? store : state);
    }
}

static void put_counts_line(struct draw *draw, const struct rows *rows)
{
    const struct snapshot *snapshot = draw->snapshot;
    struct page           *page = draw->page;
    char p50[WORDS_SHORT], p99[WORDS_SHORT], lost[WORDS_SHORT] = "-", filter[1600];

    if (snapshot->lost >= 0)
        snprintf(lost, sizeof lost, "%" PRId64, snapshot->lost);
    page_line(page, PAGE_PLAIN);
    if (snapshot->as_of > 0)
        page_print(page, PAGE_PLAIN, " held %zu  waiting %zu  ", snapshot->locks->holders,
                   snapshot->locks->waiters);
    else
        page_put(page, PAGE_PLAIN,
                 " held -  waiting -  "); /* the store was never reached */
    page_print(page, snapshot->lost > 0 ? PAGE_ALARM : PAGE_PLAIN, "lost in 1 h %s",
               lost);
    if (*rows->filter != '\0') {
        text_clean(filter, sizeof filter, rows->filter);
        page_print(page, PAGE_STRONG, "  %zu of ", rows->count);
        page_print(page, PAGE_STRONG, "%zu locks: %s", snapshot->locks->count, filter);
    } else if (snapshot->as_of > 0) {
        page_print(page, PAGE_PLAIN, "  %zu lock%s", snapshot->locks->count,
                   snapshot->locks->count == 1 ? "" : "s");
    }
    page_print(page, PAGE_PLAIN, "  round trip p50 %s p99 %s",
               words_trip(p50, snapshot->p50_us), words_trip(p99, snapshot->p99_us));
}

void draw_header(struct draw *draw, const struct rows *rows, size_t lines)
{
    bool reachable = draw->snapshot->reachable;
    char why[600];

    if (lines >= 1)
        put_store_line(draw, reachable ? PAGE_HEAD : PAGE_BAD);
    if (lines >= 2)
        put_counts_line(draw, rows);
    if (lines >= 3) {
        text_clean(why, sizeof why, draw->snapshot->why);
        page_line(draw->page, PAGE_ALARM);
        page_print(draw->page, PAGE_ALARM, " %s", why);
    }
}

/* ---- Footer ------------------------------------------------------------------------- */

size_t draw_footer_lines(const struct top *top)
{
    switch (top->mode) {
    case TOP_ASKING:
        return 3;
    case TOP_BREAKING:
        return 4;
    default:
        return 1;
    }
}

/* The typed text, or its end if it is long. */
static void put_input(struct draw *draw, const char *question, const char *typed)
{
    struct page *page = draw->page;
    char         text[INPUT_MAX * TEXT_CLEAN_FACTOR];
    const char  *from = text;

    page_line(page, PAGE_PLAIN);
    page_put(page, PAGE_STRONG, question);
    text_clean(text, sizeof text, typed);
    size_t room = page_left(page);
    while (room > 1 && text_columns(from) > room - 1)
        from += text_utf8(from);
    page_put(page, PAGE_PLAIN, from);
    page_cursor(page);
}

/* Two lines; if `lines` is 1, only the second, which matters more. */
static void put_target(struct draw *draw, const struct top *top, const char *verb,
                       size_t lines)
{
    char name[TOP_NAME_MAX];

    if (lines >= 2) {
        text_clean(name, sizeof name, top->target_name);
        page_line(draw->page, PAGE_HEAD);
        page_print(draw->page, PAGE_HEAD, " %s ", verb);
        page_put(draw->page, PAGE_HEAD, name);
    }
    if (lines >= 1) {
        page_line(draw->page, PAGE_PLAIN);
        page_print(draw->page, PAGE_STRONG, " %s", top->target_text);
    }
}

static void put_break(struct draw *draw, const struct top *top, size_t lines)
{
    put_target(draw, top, "Break", lines > 2 ? lines - 2 : 0);
    if (lines >= 2) {
        page_line(draw->page, PAGE_ALARM);
        page_put(draw->page, PAGE_ALARM,
                 " Its owner loses the lock.  Type the name of the lock, or Esc.");
    }
    put_input(draw, draw->width >= 40 ? " Name to break: " : "Break:", top->input.text);
}

void draw_footer(struct draw *draw, const struct top *top, size_t lines)
{
    struct page *page = draw->page;

    if (lines == 0)
        return;
    switch (top->mode) {
    case TOP_FILTERING:
        put_input(draw, " /", top->input.text);
        return;
    case TOP_ASKING:
        put_target(draw, top, "Ask for", lines - 1);
        put_input(draw,
                  draw->width >= 40 ? " Reason (Enter asks, Esc cancels): " : "Why:",
                  top->input.text);
        return;
    case TOP_BREAKING:
        put_break(draw, top, lines);
        return;
    case TOP_HELP:
        page_line(page, PAGE_FAINT);
        page_put(page, PAGE_FAINT, " any key goes back");
        return;
    case TOP_BROWSING:
        break;
    }
    page_line(page, PAGE_FAINT);
    if (*top->message != '\0')
        page_print(page, top->alarming ? PAGE_ALARM : PAGE_STRONG, " %s", top->message);
    else if (top->opened != NULL)
        page_put(page, PAGE_FAINT, " Esc back  a ask  b break  p pause  ? help  q quit");
    else
        page_put(page, PAGE_FAINT,
                 " Enter open  / filter  a ask  b break  p pause  ? help  q quit");
}

/* ---- Help --------------------------------------------------------------------------- */

void draw_help(struct draw *draw, size_t height)
{
    static const char *const text[] = {
        "",
        " up, down, PgUp, PgDn, Home, End   select a row",
        " Enter     open the queue of a lock: holders, waiters, commands to type",
        " Esc       back; in the table: clear the filter",
        " /         filter by a part of the name, holder, command or note; with * ? [",
        "           by a pattern for whole names",
        " a         ask the holders to give up the lock; they decide",
        " b         break: take the place away from its owner, who loses the lock",
        " p         pause, or go on; top does not query the store while paused",
        " Ctrl-L    redraw the screen",
        " q         quit",
        "",
        " Locks are sorted by contention: waiters times the longest wait.",
        " LEASE is how much of the holder's lease was left when top last read it.",
        " kernel: as long as its process lives.  session: the store does not report it.",
    };

    for (size_t i = 0; i < sizeof text / sizeof *text && i < height; i++) {
        page_line(draw->page, PAGE_PLAIN);
        page_put(draw->page, PAGE_PLAIN, text[i]);
    }
}
