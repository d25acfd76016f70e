/* page.h - lines of styled text, for a terminal or to be printed.
 *
 *     page_begin(&page, 80);
 *     page_line(&page, PAGE_PLAIN);
 *     page_put(&page, PAGE_STRONG, "deploy");
 *
 * Texts must be clean (text_clean()); they are cut where the page ends.
 */
#ifndef PAGE_H
#define PAGE_H

#include <stdbool.h>
#include <stddef.h>

enum page_style {
    PAGE_PLAIN,
    PAGE_STRONG, /* contended locks, titles */
    PAGE_FAINT,
    PAGE_HEAD,     /* a bar over the whole width */
    PAGE_BAD,      /* such a bar for an error */
    PAGE_ALARM,    /* a word about an error */
    PAGE_SELECTED, /* the row that keys are for */
};

#define PAGE_RUNS 24

struct page_line {
    char           *text;
    size_t          used, room;
    size_t          columns; /* used so far */
    enum page_style fill;    /* for the rest of the line */
    struct page_run {
        size_t          end; /* in bytes */
        enum page_style style;
    } run[PAGE_RUNS];
    size_t runs;
};

struct page {
    size_t            width; /* 0: no limit */
    struct page_line *line;
    size_t            lines, room;
    size_t            cursor_line, cursor_column; /* of the input */
    bool              cursor;
};

/* Start an empty page. */
void page_begin(struct page *page, size_t width);
void page_finish(struct page *page);

/* Begin the next line. */
void page_line(struct page *page, enum page_style fill);

/* Add to the last line.  If there is no memory, the text is left out. */
void page_put(struct page *page, enum page_style style, const char *text);
void page_print(struct page *page, enum page_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Blanks up to that column. */
void page_to(struct page *page, enum page_style style, size_t column);

/* Columns of the last line that are left. */
size_t page_left(const struct page *page);

/* Place the cursor after the text that was added last. */
void page_cursor(struct page *page);

/* The text of a line, "" if there is none. */
const char *page_text(const struct page *page, size_t line);

#endif
