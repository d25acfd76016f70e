/* table.h - rows of text in columns as wide as they need to be.  One long text pushes
 * the rest of its own row aside, and no other row. */
#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 8
#define TABLE_WIDTH_MAX   40

/* Set `columns`, zero the rest. */
struct table {
    size_t columns;
    size_t rows;
    char **cell; /* rows x columns */
};

/* Append a row; the texts are copied, cleaned as by text_clean().  Out of
 * memory the row is left out. */
void table_row(struct table *table, const char *const *cell);

/* Print it, and free its memory. */
void table_print(struct table *table, FILE *out);

#endif
