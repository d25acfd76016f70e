/* feed.h - what browsers are told, written once for all of them.
 *
 * A row for each lock, as JSON, written anew only when its line has changed.  A browser that
 * knows version v of the board gets the rows that are newer, and the numbers of those that
 * are gone.
 */
#ifndef FEED_H
#define FEED_H

#include "eye.h"

struct row {
    unsigned id;      /* for as long as somebody is in line */
    uint64_t version; /* of the board, when it changed or went */
    bool     gone;
    char    *json; /* "" if it is gone */
    size_t   size;
    int64_t  lease_until; /* us since 1970; 0: no time is set */
    char    *name;
};

struct feed {
    char          epoch[17]; /* tells this process from one before */
    struct row  **row;       /* sorted by name */
    size_t        count, gone;
    unsigned      ids;
    uint64_t      version;   /* of the board, when it was followed */
    uint64_t      floor;     /* what went before this version is forgotten */
    uint64_t      turn;      /* rises whenever there is something to tell */
    uint64_t      leases;    /* the turn that tells of leases as they were seen last */
    int64_t       refreshed; /* when that was */
    bool          allow_ask, allow_break;
    struct piece *last; /* that was made, for the next who wants the same */
};

/* A message, shared by all to whom it is sent. */
struct piece {
    unsigned users;
    uint64_t from, version, turn; /* what it leads from and to */
    bool     full, leases;
    size_t   size;
    char    *text;
};

bool feed_init(struct feed *feed);
void feed_finish(struct feed *feed);

/* The board has changed.  False: no memory, try again. */
bool feed_follow(struct feed *feed, const struct eye *eye);

/* There is something to tell: a new turn. */
void feed_turn(struct feed *feed, const struct eye *eye);

/* What somebody has to be told who knows that version, and was told something last in that
 * turn; 0: who knows nothing.  NULL: no memory. */
struct piece *feed_piece(struct feed *feed, const struct eye *eye, uint64_t from,
                         uint64_t turn);
void          piece_free(struct piece *piece);

/* As JSON: all rows as a member `locks`; the state of all, the members of an object. */
void feed_write_rows(const struct feed *feed, struct json *json);
void feed_write_state(const struct feed *feed, const struct eye *eye, struct json *json);

/* The version in "EPOCH-VERSION", if it is one of this process that can be led on from. */
bool feed_parse_id(const struct feed *feed, const char *text, uint64_t *ret);

#endif
