/* testament.h - wills of players and clients, and what hf_execute() says of them. */
#ifndef HF_TEST_TESTAMENT_H
#define HF_TEST_TESTAMENT_H

#include "lib/promise.h"

struct testament {
    uint8_t bytes[2048];
    size_t  size;
    hf_time alive_until; /* the lease does not end the session before */
};

/* The will of a player's session, on the URL that players use.  Its link comes up first. */
void testament_write(struct player *player, struct testament *ret);

/* What the store writes of it, HF_WILL_MAX bytes at most: returns how many.  And a whole
 * will of such bytes. */
size_t testament_own(struct player *player, uint8_t *own);
void   testament_pack(struct testament *ret, const uint8_t *own, size_t own_size);

/* The will of a client, which has a session.  The same for who reaches the store by another
 * URL. */
void testament_take(struct hf_client *client, struct testament *ret);
void testament_move(const struct testament *will, const char *url, struct testament *ret);

/* Execute it: it must work, or be refused by that code and with a message. */
void testament_execute(const struct testament *will);
void testament_refused(const struct testament *will, int code);

/* Turn until the player has lost its session so many times; or until it is its turn, while
 * the owner of the place ahead lives, too. */
void await_loss(struct player *player, int times);
void await_turn(struct player *player, const char *name, struct ask *view,
                struct player *owner);

#endif
