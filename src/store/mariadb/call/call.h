/* call.h - calls of the server's functions and procedures.
 *
 * One call is in flight at a time; the others wait in a queue, urgent ones in front.  The
 * server carries out the calls of a connection one after the other anyway, and each takes
 * as long as a write to its disk. */
#ifndef HF_MARIA_CALL_H
#define HF_MARIA_CALL_H

#include "store/mariadb/wire/wire.h"
#include "store/served/served.h"

struct hf_maria;

/* `reply` is lent for the call; NULL: the connection broke before there was one. */
typedef void hf_maria_on_reply(struct hf_maria *maria, void *data,
                               const struct hf_my_reply *reply);

/* Embedded in the caller's object; must stay in place until it is answered. */
struct hf_maria_call {
    struct hf_my_call     wire;
    struct hf_my_query    query; /* ours */
    hf_time               sent;  /* 0: not yet */
    hf_maria_on_reply    *on_reply;
    void                 *data;
    struct hf_maria_call *next;
    bool                  pending; /* in the queue or in flight */
    bool                  last;    /* bye: sent at close, when nothing else is */
    bool                  asks;    /* an answer without a row is none */
};

struct hf_maria_calls {
    struct hf_maria_call *first, *last; /* that wait */
    struct hf_maria_call *urgent;       /* the last urgent one of them, or NULL */
    struct hf_maria_call *flying;       /* the one in flight, or NULL */
    hf_time               progress;     /* when the last answer came */
};

/* Call a function or a procedure: begin, add its arguments, then hf_maria_send(). */
void hf_maria_begin(struct hf_maria *maria, const char *function);
void hf_maria_begin_call(struct hf_maria *maria, const char *procedure);
void hf_maria_add(struct hf_served *served, const char *text); /* NULL is SQL's NULL */
void hf_maria_add_number(struct hf_served *served, uint64_t number);
void hf_maria_send(struct hf_maria *maria, struct hf_maria_call *call, bool urgent,
                   hf_maria_on_reply *on_reply, void *data);

/* A procedure answers with rows, a function with one text: words, with a blank between, then
 * items.  A word of the first row or of the text; as a text, the last one goes on to the
 * end.  And the item of that index; NULL: there are no more. */
int64_t     hf_maria_number(const struct hf_my_reply *reply, size_t index);
const char *hf_maria_text(const struct hf_my_reply *reply, size_t index);
const char *hf_maria_item(const struct hf_my_reply *reply, size_t index);

/* Any other statement; urgent. */
void hf_maria_query(struct hf_maria *maria, struct hf_maria_call *call, const char *text,
                    hf_maria_on_reply *on_reply, void *data);

/* Send the next call, if none is in flight. */
void hf_maria_calls_run(struct hf_maria *maria);

/* The connection is gone: answer all that wait with NULL.  Or one of them. */
void hf_maria_calls_drop(struct hf_maria *maria);
void hf_maria_call_drop(struct hf_maria *maria, struct hf_maria_call *call);

#endif
