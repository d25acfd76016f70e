/* lab.h - a folder to try out what may happen to the files of a store. */
#ifndef HF_TEST_LAB_H
#define HF_TEST_LAB_H

#include "lib/promise.h"

#include <stdint.h>

struct lab {
    char top[64];    /* removed at the end, with all there is in it */
    char folder[96]; /* of the store */
    char path[128];  /* of the database */
    char url[160];
};

/* Players use the store in it from then on. */
void lab_open(struct lab *lab);
void lab_close(struct lab *lab);

/* As setup and teardown: *state is the lab. */
int lab_setup(void **state);
int lab_teardown(void **state);

/* The path with something added; good until the next call but one. */
const char *lab_file(const struct lab *lab, const char *ending);
bool        lab_has(const struct lab *lab, const char *ending);
void        lab_unlink(const struct lab *lab, const char *ending);

/* How many files there are in a folder. */
size_t lab_count(const char *folder);

/* Copy a file, its rights included. */
void lab_copy(const char *from, const char *to);

/* Run SQL on the database, as a stranger; the first value of the first row. */
int64_t lab_sql(const struct lab *lab, const char *text);

/* Open the URL: the code, and the message. */
int lab_try(const char *url, char *errmsg);

/* Turn until the link was lost, or for `ms`. */
bool lab_loses(struct player *player, int ms);

/* Turn until a line has `count` tickets in it, or for `ms`. */
bool lab_becomes(struct player *player, const char *name, size_t count, int ms);

#endif
