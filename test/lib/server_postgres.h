/* server_postgres.h - a PostgreSQL server under test: see server.h. */
#ifndef HF_TEST_SERVER_POSTGRES_H
#define HF_TEST_SERVER_POSTGRES_H

#include "lib/server.h"

/* Run a query.  The first field of its first row, or "" without one; until the next
 * call. */
const char *postgres_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same where the answer is a number. */
long postgres_number(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
