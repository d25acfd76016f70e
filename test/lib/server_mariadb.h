/* server_mariadb.h - a MariaDB server under test: see server.h. */
#ifndef HF_TEST_SERVER_MARIADB_H
#define HF_TEST_SERVER_MARIADB_H

#include "lib/server.h"

/* The database to read, which actors use, too: "test" at first.  It is made if need be. */
void mariadb_use(const char *database);

/* Run a query.  The first field of its first row, or "" without one; until the next
 * call. */
const char *mariadb_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same where the answer is a number. */
long mariadb_number(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
