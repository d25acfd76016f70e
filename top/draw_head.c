/* draw_head.c - header, footer and help of a screen. */
#include "draw.h"

#include "text.h"
#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- Header ------------------------------------------------------------------------- */

static void put_first(struct draw *draw, enum page_style style)
{
    const struct sight *sight = draw->sight;
    struct page        *page = draw->page;
    char                store[1024], right[WORDS_SHORT + 64], time[WORDS_SHORT];
    const char         *state = sight->paused      ? "paused"
                                : sight->reachable ? "live"
                                                   : "NOT REACHABLE";

    words_time(time, sight->as_of, sight->now);
    if (draw->height > 0)
        snprintf(right, sizeof right, "as of %s (%s) ", time, state);
    else
        snprintf(right, sizeof right, "as of %s", time);
    text_clean(store, sizeof store, sight->store);
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
        page_put(page, style, sight->reachable ? store : state);
    }
}

static void put_second(struct draw *draw, const struct rows *rows)
{
    const struct sight *sight = draw->sight;
    struct page        *page = draw->page;
    char p50[WORDS_SHORT], p99[WORDS_SHORT], lost[WORDS_SHORT] = "-", filter[1600];

    if (sight->lost >= 0)
        snprintf(lost, sizeof lost, "%" PRId64, sight->lost);
    page_line(page, PAGE_PLAIN);
    if (sight->as_of > 0)
        page_print(page, PAGE_PLAIN, " held %zu  waiting %zu  ", sight->board->holders,
                   sight->board->waiters);
    else
        page_put(page, PAGE_PLAIN, " held -  waiting -  "); /* the store was never seen */
    page_print(page, sight->lost > 0 ? PAGE_ALARM : PAGE_PLAIN, "lost in 1 h %s", lost);
    if (*rows->filter != '\0') {
        text_clean(filter, sizeof filter, rows->filter);
        page_print(page, PAGE_STRONG, "  %zu of ", rows->count);
        page_print(page, PAGE_STRONG, "%zu locks: %s", sight->board->count, filter);
    } else if (sight->as_of > 0) {
        page_print(page, PAGE_PLAIN, "  %zu lock%s", sight->board->count,
                   sight->board->count == 1 ? "" : "s");
    }
    page_print(page, PAGE_PLAIN, "  round trip p50 %s p99 %s",
               words_trip(p50, sight->p50_us), words_trip(p99, sight->p99_us));
}

void draw_header(struct draw *draw, const struct rows *rows, size_t lines)
{
    bool reachable = draw->sight->reachable;
    char why[600];

    if (lines >= 1)
        put_first(draw, reachable ? PAGE_HEAD : PAGE_BAD);
    if (lines >= 2)
        put_second(draw, rows);
    if (lines >= 3) {
        text_clean(why, sizeof why, draw->sight->why);
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

/* What is typed, its end if it is long. */
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

/* Two lines, the last of so many: the second is the more important one. */
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
                 " Its owner finds it lost.  Type the lock's name, or Esc.");
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
        put_input(draw, draw->width >= 40 ? " Reason (Enter asks, Esc not): " : "Why:",
                  top->input.text);
        return;
    case TOP_BREAKING:
        put_break(draw, top, lines);
        return;
    case TOP_HELPING:
        page_line(page, PAGE_FAINT);
        page_put(page, PAGE_FAINT, " any key goes back");
        return;
    case TOP_LOOKING:
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
        " up, down, PgUp, PgDn, Home, End   choose a row",
        " Enter     open the line of a lock: who holds it, who waits, what to type",
        " Esc       back; in the table: no filter",
        " /         filter: a part of the name, holder, command or note; with * ? [",
        "           a pattern for whole names",
        " a         ask the holders to give the lock up; they decide",
        " b         break: take the place away from its owner, who finds it lost",
        " p         pause, or go on; the store is not asked meanwhile",
        " Ctrl-L    draw everything again",
        " q         quit",
        "",
        " First comes what hurts most: waiters times the longest wait.",
        " LEASE is what was left of the holder's when last looked at.  kernel: it lasts",
        " as long as its process.  session: the store does not tell more.",
    };

    for (size_t i = 0; i < sizeof text / sizeof *text && i < height; i++) {
        page_line(draw->page, PAGE_PLAIN);
        page_put(draw->page, PAGE_PLAIN, text[i]);
    }
}
