/* row.h - the row of one lock. */
#ifndef ROW_H
#define ROW_H

#include "feed.h"

/* A row without its JSON; NULL: no memory. */
struct row *row_new(const char *name, unsigned id);
void        row_free(struct row *row);

/* Write it as the line is now.  False: no memory; it is as it was. */
bool row_write(struct row *row, const struct board_line *line);

/* Nobody is in line any more. */
void row_go(struct row *row, uint64_t version);

/* When the lease of the first holder ends, us since 1970; 0: no time is set. */
int64_t row_lease_until(const struct board_line *line);

#endif
