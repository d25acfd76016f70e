/* postgres.h - lines in a PostgreSQL database: postgres:, postgresql:.  See
 * docs/postgres.md for what it needs and promises. */
#ifndef HF_POSTGRES_H
#define HF_POSTGRES_H

#include "store/store.h"

extern const struct hf_store_impl hf_postgres_store, hf_postgresql_store;

#endif
