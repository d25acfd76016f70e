/* feed.h - messages to browsers, written once for all of them.
 *
 * There is a row of JSON for each lock, which is rewritten only when the lock has changed.  A browser
 * that knows version v of the locks gets the newer rows, and the ids of rows that are gone.
 */
#ifndef FEED_H
#define FEED_H

#include "monitor.h"

struct row {
    unsigned id;      /* stays the same while the lock is in use */
    uint64_t version; /* of struct locks, when the row changed or went */
    bool     gone;
    char    *json; /* "" if it is gone */
    size_t   size;
    int64_t  lease_until; /* us since 1970; 0: no lease with a time */
    char    *name;
};

struct feed {
    char            epoch[17]; /* distinguishes this process from earlier ones */
    struct row    **row;       /* sorted by name */
    size_t          count, gone;
    unsigned        ids;
    uint64_t        version;   /* of struct locks, when the rows were updated */
    uint64_t        floor;     /* rows that went before this version are forgotten */
    uint64_t        update;    /* rises whenever there is something to send */
    uint64_t        leases;    /* the update that has the newest leases */
    int64_t         refreshed; /* when these were read */
    bool            allow_ask, allow_break;
    struct message *last; /* the last one, for other browsers that need the same */
};

/* A message, shared by all browsers that get it. */
struct message {
    unsigned users;
    uint64_t from, version, update; /* from which version to which */
    bool     full, leases;
    size_t   size;
    char    *text;
};

bool feed_init(struct feed *feed);
void feed_finish(struct feed *feed);

/* The locks have changed.  False: no memory, try again. */
bool feed_follow(struct feed *feed, const struct monitor *monitor);

/* There is something to send: begin a new update. */
void feed_new_update(struct feed *feed, const struct monitor *monitor);

/* The message for a browser that knows version `from` and got its last message in `update` (0: none
 * yet).  NULL: no memory. */
struct message *feed_message(struct feed *feed, const struct monitor *monitor,
                             uint64_t from, uint64_t update);
void            message_free(struct message *message);

/* As JSON: all rows as a member `locks`; the members of the state. */
void feed_write_rows(const struct feed *feed, struct json *json);
void feed_write_state(const struct feed *feed, const struct monitor *monitor,
                      struct json *json);

/* The member `now`. */
void feed_write_now(struct json *json);

/* The version in "EPOCH-VERSION", if it is from this process and not too old. */
bool feed_parse_id(const struct feed *feed, const char *text, uint64_t *ret);

#endif
