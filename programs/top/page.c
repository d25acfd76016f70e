/* page.c - see page.h. */
#include "page.h"

#include "text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void page_begin(struct page *page, size_t width)
{
    page->width = width;
    page->lines = 0;
    page->cursor = false;
}

void page_finish(struct page *page)
{
    for (size_t i = 0; i < page->room; i++)
        free(page->line[i].text);
    free(page->line);
    *page = (struct page){ 0 };
}

void page_line(struct page *page, enum page_style fill)
{
    if (page->lines == page->room) {
        size_t            room = page->room > 0 ? 2 * page->room : 64;
        struct page_line *grown = reallocarray(page->line, room, sizeof *grown);
        if (grown == NULL)
            return;
        memset(grown + page->room, 0, (room - page->room) * sizeof *grown);
        page->line = grown;
        page->room = room;
    }
    struct page_line *line = &page->line[page->lines++];
    line->used = line->columns = line->runs = 0;
    line->fill = fill;
    if (line->text != NULL)
        line->text[0] = '\0';
}

static struct page_line *last_line(const struct page *page)
{
    return page->lines > 0 ? &page->line[page->lines - 1] : NULL;
}

static bool grow_line(struct page_line *line, size_t length)
{
    size_t want = line->used + length + 1;

    if (want <= line->room)
        return true;
    want = want < 256 ? 256 : 2 * want;
    char *grown = realloc(line->text, want);
    if (grown == NULL)
        return false;
    line->text = grown;
    line->room = want;
    return true;
}

static void add_bytes(struct page_line *line, enum page_style style, const char *text,
                      size_t length, size_t columns)
{
    if (length == 0 || !grow_line(line, length))
        return;
    memcpy(line->text + line->used, text, length);
    line->used += length;
    line->text[line->used] = '\0';
    line->columns += columns;
    if (line->runs == 0 ||
        (line->run[line->runs - 1].style != style && line->runs < PAGE_RUNS))
        line->run[line->runs++].style = style;
    line->run[line->runs - 1].end = line->used;
}

size_t page_left(const struct page *page)
{
    const struct page_line *line = last_line(page);

    if (line == NULL)
        return 0;
    return page->width == 0 ? SIZE_MAX : page->width - line->columns;
}

void page_put(struct page *page, enum page_style style, const char *text)
{
    struct page_line *line = last_line(page);

    if (line == NULL)
        return;
    size_t columns = text_columns(text), left = page_left(page);
    size_t length = strlen(text);
    if (columns > left) {
        length = text_fit(text, left);
        columns = left; /* or one less, if a wide character does not fit */
    }
    add_bytes(line, style, text, length, columns);
    assert(page->width == 0 || line->columns <= page->width);
}

void page_print(struct page *page, enum page_style style, const char *format, ...)
{
    char    text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    page_put(page, style, text);
}

void page_to(struct page *page, enum page_style style, size_t column)
{
    const struct page_line *line = last_line(page);

    while (line != NULL && line->columns < column && page_left(page) > 0) {
        size_t before = line->columns;
        page_put(page, style, " ");
        if (line->columns == before)
            break; /* no memory */
    }
}

void page_cursor(struct page *page)
{
    const struct page_line *line = last_line(page);

    if (line == NULL)
        return;
    page->cursor = true;
    page->cursor_line = page->lines - 1;
    page->cursor_column = line->columns;
}

const char *page_text(const struct page *page, size_t line)
{
    bool there = line < page->lines && page->line[line].used > 0;

    return there ? page->line[line].text : "";
}
