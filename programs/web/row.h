/* row.h - the row of one lock. */
#ifndef ROW_H
#define ROW_H

#include "feed.h"

/* A row without its JSON; NULL: no memory. */
struct row *row_new(const char *name, unsigned id);
void        row_free(struct row *row);

/* Write the present state of the lock.  False: no memory, the row is unchanged. */
bool row_write(struct row *row, const struct lock *lock);

/* Nobody holds the lock or waits for it any more. */
void row_remove(struct row *row, uint64_t version);

/* When the lease of the first holder ends, us since 1970; 0: no lease with a time. */
int64_t row_lease_until(const struct lock *lock);

#endif
