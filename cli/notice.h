/* notice.h - tells a user who waits what he waits for.
 *
 * On a terminal one line that updates itself every second; elsewhere a line
 * once, and another when the holder changes.
 */
#ifndef NOTICE_H
#define NOTICE_H

#include <holdfast.h>

#include <stdbool.h>
#include <stdint.h>

struct notice {
    struct hf_client *client;
    const char       *name;
    bool              quiet;
    bool              terminal; /* stderr is one, and can rewrite a line */
    bool              shown;    /* a line stands on the terminal */
    uint64_t          told;     /* token of the holder last told of */
    bool              spoken;   /* anything was */
    int64_t           begin;    /* of the wait; CLOCK_BOOTTIME ns */
    int64_t           next;     /* when to look again */
};

void notice_init(struct notice *notice, struct hf_client *client, const char *name,
                 bool quiet);

/* Milliseconds until notice_show() has something to do; -1: never. */
int notice_timeout_ms(const struct notice *notice);

/* If it is time, look and tell. */
void notice_show(struct notice *notice);

/* The same for somebody who has looked already; NULL: in vain. */
void notice_show_seen(struct notice *notice, const struct hf_report *seen);

/* Clear the line on the terminal. */
void notice_clear(struct notice *notice);

/* The wait was not in vain: say how long it was, if it was long. */
void notice_waited(const struct notice *notice);

#endif
