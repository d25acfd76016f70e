/* session_keys.h - session keys of players and clients, and what hf_end_session() says of
 * them. */
#ifndef HF_TEST_SESSION_KEYS_H
#define HF_TEST_SESSION_KEYS_H

#include "lib/promise.h"

struct session_key {
    uint8_t bytes[2048];
    size_t  size;
    hf_time alive_until; /* the lease lasts until then */
};

/* The session key of a player, once its link is up. */
void session_key_write(struct player *player, struct session_key *ret);

/* The store's own part of it, HF_SESSION_KEY_MAX bytes at most: returns how many.  And a
 * whole key made of such bytes. */
size_t session_key_own(struct player *player, uint8_t *own);
void   session_key_pack(struct session_key *ret, const uint8_t *own, size_t own_size);

/* The session key of a client, which has a session; the same key for another URL of the
 * store. */
void session_key_take(struct hf_client *client, struct session_key *ret);
void session_key_move(const struct session_key *key, const char *url,
                      struct session_key *ret);

/* End the session: it must work, or be refused with that code and a message. */
void session_key_end(const struct session_key *key);
void session_key_refused(const struct session_key *key, int code);

/* Process until the player has lost its session so many times; or until it is granted,
 * while the owner of the place ahead is processed, too. */
void await_loss(struct player *player, int times);
void await_turn(struct player *player, const char *name, struct request *view,
                struct player *owner);

#endif
