/* table.c - see table.h. */
#include "table.h"

#include "text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static char *clean_copy(const char *text)
{
    size_t size = TEXT_CLEAN_FACTOR * strlen(text) + 1;
    char  *copy = malloc(size);

    if (copy != NULL)
        text_clean(copy, size, text);
    return copy;
}

void table_row(struct table *table, const char *const *cell)
{
    size_t first = table->rows * table->columns;
    char **more = realloc(table->cell, (first + table->columns) * sizeof *more);

    assert(table->columns <= TABLE_COLUMNS_MAX);
    if (more == NULL)
        return;
    table->cell = more;
    for (size_t i = 0; i < table->columns; i++) {
        more[first + i] = clean_copy(cell[i]);
        if (more[first + i] == NULL) {
            while (i-- > 0)
                free(more[first + i]);
            return;
        }
    }
    table->rows++;
}

static void print_row(const struct table *table, char *const *cell, const size_t *width,
                      FILE *out)
{
    for (size_t i = 0; i < table->columns; i++) {
        size_t columns = text_columns(cell[i]);
        size_t left = width[i] > columns ? width[i] - columns : 0;
        fputs(cell[i], out);
        if (i + 1 == table->columns)
            fputc('\n', out);
        else
            fprintf(out, "%*s", (int)left + 2, "");
    }
}

void table_print(struct table *table, FILE *out)
{
    size_t width[TABLE_COLUMNS_MAX] = { 0 };
    size_t cells = table->rows * table->columns;

    for (size_t i = 0; i < cells; i++) {
        size_t columns = text_columns(table->cell[i]),
               *widest = &width[i % table->columns];
        if (columns <= TABLE_WIDTH_MAX)
            *widest = columns > *widest ? columns : *widest;
    }
    for (size_t row = 0; row < table->rows; row++)
        print_row(table, table->cell + row * table->columns, width, out);
    for (size_t i = 0; i < cells; i++)
        free(table->cell[i]);
    free(table->cell);
}
