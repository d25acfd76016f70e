/* witness.h - the server under test, seen without the store.
 *
 * A witness asks the server itself, in a session of its own and with code that is not
 * Holdfast's (lib/zkraw.h).
 */
#ifndef HF_TEST_ZK_WITNESS_H
#define HF_TEST_ZK_WITNESS_H

#include "lib/zkraw.h"

#define WITNESS_MAX  100
#define WITNESS_NAME 80

struct witness {
    char   name[WITNESS_MAX][WITNESS_NAME]; /* of the children, sorted */
    size_t count;
    bool   there; /* the folder */
};

enum { WITNESS_PLAIN = 0, WITNESS_EPHEMERAL = 1, WITNESS_SEQUENCE = 3 };

/* The server under test, from HF_ZK.  Skips the whole program if there is none. */
const char *witness_server(void);

/* The children of "/name". */
void witness_look(const char *folder, struct witness *ret);

/* How many there are; wait until there are so many, 30 s at most. */
size_t witness_count(const char *folder);
void   witness_await(const char *folder, size_t count);

/* Create or delete a node.  Returns the server's error, or 0. */
int32_t witness_create(const char *path);
int32_t witness_delete(const char *path);
void    witness_delete_all(const char *folder); /* with what is in it */

/* The same in a session that stays open: an ephemeral node lives as long. */
int32_t witness_create_in(struct zkraw *raw, const char *path, const char *text,
                          int32_t mode);
int32_t witness_write_in(struct zkraw *raw, const char *path, const char *text);
/* Let everybody have these rights there, and no others. */
int32_t witness_permit_in(struct zkraw *raw, const char *path, int32_t rights);
int32_t witness_delete_in(struct zkraw *raw, const char *path);
/* In one transaction, delete an empty folder, create it again, and in it a place with
 * this prefix and number. */
void witness_recreate(struct zkraw *raw, const char *folder, const char *place,
                      int number);

/* The data of a node, with a 0 behind them.  Returns how many bytes there are. */
size_t witness_read_in(struct zkraw *raw, const char *path, char *text, size_t room);

/* Send a command to the script that started the servers; the test fails if it fails.  The
 * answer stays there until the next command. */
const char *witness_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How many watches the server has, of all clients; wait until there are so many, 30 s at
 * most.  Returns the last count. */
long witness_watches(void);
long witness_await_watches(long count);

#endif
