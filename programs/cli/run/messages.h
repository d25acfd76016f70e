/* messages.h - messages to a user who waits for a lock, or holds it.
 *
 *     wait_message.c    The holder.  On a terminal a line that updates itself every
 *                       second; elsewhere one line, and another when the holder changes
 *     store_message.c   The store cannot be reached, or can again.  Somebody asks for the
 *                       lock
 */
#ifndef MESSAGES_H
#define MESSAGES_H

#include <holdfast.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- The holder of the lock that we wait for ---- */

struct wait_message {
    struct hf_client *client;
    const char       *name;
    bool              quiet;
    bool              terminal; /* stderr is one, and can rewrite a line */
    bool              shown;    /* a line stands on the terminal */
    bool              spoken;   /* a line was written elsewhere */
    uint64_t          told;     /* token of the holder in it */
    int64_t           begin;    /* of the wait; CLOCK_BOOTTIME ns */
    int64_t           next;     /* when to look again */
};

void wait_message_init(struct wait_message *message, struct hf_client *client,
                       const char *name, bool quiet);

/* Milliseconds until wait_message_show() has something to do; -1: never. */
int wait_message_timeout_ms(const struct wait_message *message);

/* If it is time, look who holds the lock and tell the user. */
void wait_message_show(struct wait_message *message);

/* The same for a caller that has a report already; NULL: it could not get one. */
void wait_message_show_seen(struct wait_message *message, const struct hf_report *seen);

/* Clear the line on the terminal. */
void wait_message_clear(struct wait_message *message);

/* The lock is ours: say how long the wait was, if it was long. */
void wait_message_waited(const struct wait_message *message);

/* ---- The store cannot be reached ---- */

/* A process has one session at a time, and so one state of this kind.  The library
 * reports from inside hf_process(); the user is told when the problem has lasted for a
 * moment. */

/* A session begins.  `endless`: the user set no time limit, so the message says how to
 * set one. */
void store_message_start(bool quiet, bool endless);

/* The library's on_link. */
void store_message_on_link(struct hf_client *client, enum hf_link link, const char *why,
                           void *data);

/* Why the store has been out of reach for longer than a moment; NULL: it has not. */
const char *store_message_why(void);

/* "trying again", as the end of a sentence, with a way out if there is no limit. */
const char *store_message_retry(void);

/* Milliseconds until store_message_show() has something to say; -1: nothing at
 * present. */
int store_message_timeout_ms(void);

/* Report it, once for each outage.  `lock`: the lock that may be lost, or NULL. */
void store_message_show(const struct hf_lock *lock);

/* ---- Somebody asks for the lock ---- */

#define REQUEST_MAX 512

/* Zero it; the session fills it from inside hf_process(). */
struct requests {
    bool fresh; /* somebody asked since we last looked */
    char reason[REQUEST_MAX];
};

/* The library's on_ask. */
void requests_on_ask(struct requests *requests, const char *reason);

/* Did somebody ask since the last call?  The reason is that of the last request. */
bool requests_next(struct requests *requests);

/* Tell the user that somebody asks, and what follows from it: `then`. */
void requests_say(const struct requests *requests, const char *name, const char *then);

#endif
