/* talk.h - a store that talks to a server whose answers are the input of a fuzz target.
 *
 * The first byte of the input says with which request to begin; the rest is cut into
 * pieces by TALK_CUT.  Each call of the store is answered with the next piece.  When the
 * store has nothing left to ask, the next request is submitted.  After the last one, the
 * pieces that are left are sent unasked, as messages.  Time is virtual, and only goes on
 * when nothing else happens.
 *
 * Whatever is answered: no request ends twice, and each with a status that exists.
 */
#ifndef HF_FUZZ_TALK_H
#define HF_FUZZ_TALK_H

#include "store/store.h"

#define TALK_CUT   "\xff\xfe"
#define TALK_CONNS 4
#define TALK_FILE  ".s.PGSQL.5432" /* libpq chooses this name */

struct talk_conn {
    int     fd;   /* -1: none */
    bool    open; /* the target has seen its first call */
    uint8_t call[131072];
    size_t  used;
    uint8_t out[131072]; /* written, not sent yet */
    size_t  written;
};

struct talk {
    bool tcp; /* on 127.0.0.1; else a Unix socket in `folder` */

    /* The store's URL. */
    void (*configure)(const struct talk *talk, struct hf_config *ret);
    /* A new connection: the server speaks first.  NULL: the client does. */
    void (*greet)(struct talk *talk, struct talk_conn *conn);
    /* The size of the call that `conn->call` begins with; 0: it is not complete. */
    size_t (*call_size)(const struct talk_conn *conn);
    /* Answer that call. */
    void (*answer)(struct talk *talk, struct talk_conn *conn, size_t size);
    /* Send a piece unasked. */
    void (*tell)(struct talk_conn *conn, const uint8_t *piece, size_t size);

    int              listener; /* set by the first talk_run(), as the next two */
    uint16_t         port;
    char             folder[64];
    struct talk_conn conn[TALK_CONNS];
    const uint8_t   *at, *end; /* the rest of the input */
};

/* The next piece; false: there are no more. */
bool talk_piece(struct talk *talk, const uint8_t **piece, size_t *size);
void talk_write(struct talk_conn *conn, const void *bytes, size_t size);

/* Open the store, talk, and close it. */
void talk_run(struct talk *talk, const uint8_t *bytes, size_t size);

#endif
