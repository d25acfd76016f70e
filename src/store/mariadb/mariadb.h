/* mariadb.h - lines in a MariaDB database: mariadb:, mysql:.  See docs/mariadb.md for what
 * it needs and promises. */
#ifndef HF_MARIADB_H
#define HF_MARIADB_H

#include "store/store.h"

extern const struct hf_store_impl hf_mariadb_store, hf_mysql_store;

#endif
