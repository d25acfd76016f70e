/* witness_postgres.h - a PostgreSQL server under test, past the store: see witness.h. */
#ifndef HF_TEST_WITNESS_POSTGRES_H
#define HF_TEST_WITNESS_POSTGRES_H

#include "lib/witness.h"

/* The first field of the first row that a question is answered; "" if there is none.  Until
 * the next call. */
const char *postgres_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same where the answer is a number. */
long postgres_number(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
