/* temp_store.h - an SQLite store in a temporary folder, for tests that tamper with its
 * files. */
#ifndef HF_TEST_TEMP_STORE_H
#define HF_TEST_TEMP_STORE_H

#include "lib/promise.h"

#include <stdint.h>

struct temp_store {
    char top[64];    /* removed at the end, with everything in it */
    char folder[96]; /* of the store */
    char path[128];  /* of the database */
    char url[160];
};

/* Players use this store from then on. */
void temp_open(struct temp_store *temp);
void temp_close(struct temp_store *temp);

/* As setup and teardown: *state is the temp_store. */
int temp_setup(void **state);
int temp_teardown(void **state);

/* The path of the database with an ending; until the next call but one. */
const char *temp_file(const struct temp_store *temp, const char *ending);
bool        temp_has(const struct temp_store *temp, const char *ending);
void        temp_unlink(const struct temp_store *temp, const char *ending);

/* The number of files in a folder. */
size_t count_files(const char *folder);

/* Copy a file with its mode. */
void copy_file(const char *from, const char *to);

/* Run SQL on the database, without Holdfast; the first value of the first row. */
int64_t temp_sql(const struct temp_store *temp, const char *text);

/* Try to open the URL: the code, and the message. */
int temp_try_open(const char *url, char *errmsg);

/* Process until the session is lost, or for `ms`. */
bool player_loses_session(struct player *player, int ms);

/* Process until a queue has `count` places, or for `ms`. */
bool player_sees_line(struct player *player, const char *name, size_t count, int ms);

#endif
