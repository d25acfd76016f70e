/* call.h - calls of the server's functions: their arguments, the queue, the results.
 *
 * Calls in flight are in the order in which they were sent.  The others wait in a queue,
 * urgent ones in front. */
#ifndef HF_PG_CALL_H
#define HF_PG_CALL_H

#include "store/postgres/pq.h"
#include "store/served/served.h"

struct hf_pg;
struct hf_pg_link;

enum hf_pg_function {
    HF_PG_HELLO,
    HF_PG_RECLAIM,
    HF_PG_RENEW,
    HF_PG_MESSAGES,
    HF_PG_EXPIRE,
    HF_PG_SWEEP,
    HF_PG_BYE,
    HF_PG_ENTER,
    HF_PG_LEAVE,
    HF_PG_READ,
    HF_PG_DOWNGRADE,
    HF_PG_WATCH,
    HF_PG_BREAK,
    HF_PG_ASK,
    HF_PG_VERIFY,
    HF_PG_LIST,
    HF_PG_WATCH_STORE,
    HF_PG_KEEP_HISTORY,
    HF_PG_HISTORY,
    HF_PG_DIAGNOSE,
    HF_PG_FUNCTIONS,
};

/* `result` is lent for the call; NULL: the connection broke before there was one. */
typedef void hf_pg_on_result(struct hf_pg *pg, void *data, const PGresult *result);

#define HF_PG_ARGS 16

/* Embedded in the caller's object; must stay in place until it is answered. */
struct hf_pg_call {
    enum hf_pg_function function;
    char               *params; /* ours: the arguments, each with its NUL; or a query */
    size_t              room;
    int                 count;  /* of params; -1: out of memory */
    unsigned            nulls;  /* bit i: params[i] is NULL */
    hf_time             sent;   /* 0: not yet */
    uint64_t            number; /* in the order of first sending */
    hf_pg_on_result    *on_result;
    void               *data;
    struct hf_pg_call  *next;
    bool                pending; /* in the queue or in flight */
    bool                urgent;
    bool                plain;    /* params is a query */
    bool                prepared; /* it was sent as a prepared statement */
    bool                retried;
};

struct hf_pg_calls {
    struct hf_pg_call *first, *last;
    unsigned           count;
};

/* The arguments of the next call, while the caller adds them. */
struct hf_pg_args {
    enum hf_pg_function function;
    char               *text;
    size_t              used, room;
    int                 count;
    unsigned            nulls;
    bool                failed; /* out of memory */
};

void hf_pg_args_finish(struct hf_pg_args *args);

/* ---- value.c: arguments and results ---------------------------------------------- */

/* Call a function: begin, add its arguments, then hf_pg_send(). */
void hf_pg_begin(struct hf_pg *pg, enum hf_pg_function function);
void hf_pg_add(struct hf_served *served, const char *text); /* NULL is SQL's NULL */
void hf_pg_add_number(struct hf_served *served, uint64_t number);
void hf_pg_add_bool(struct hf_served *served, bool value);
/* "{1,2,3}" */
void hf_pg_add_numbers(struct hf_served *served, const uint64_t *number, size_t count);

/* A field of a result; 0, NULL or false if there is no such field. */
int64_t     hf_pg_number(const PGresult *result, int row, int column);
const char *hf_pg_text(const PGresult *result, int row, int column);
bool        hf_pg_bool(const PGresult *result, int row, int column);

/* ---- queue.c ----------------------------------------------------------------------- */

void hf_pg_send(struct hf_pg *pg, struct hf_pg_call *call, bool urgent,
                hf_pg_on_result *on_result, void *data);

/* A query without arguments, such as LISTEN. */
void hf_pg_query(struct hf_pg *pg, struct hf_pg_call *call, const char *text,
                 hf_pg_on_result *on_result, void *data);

/* For link.c: answer all calls with NULL. */
void hf_pg_calls_drop(struct hf_pg *pg);

/* Take a call that was not sent yet out of the queue, and answer it with NULL. */
void hf_pg_call_drop(struct hf_pg *pg, struct hf_pg_call *call);

/* For call.c. */
void               hf_pg_calls_append(struct hf_pg_calls *calls, struct hf_pg_call *call);
struct hf_pg_call *hf_pg_calls_shift(struct hf_pg_calls *calls);

/* Queue a call that has to be sent again: first, or behind the others that were sent
 * before.  During close it is not sent any more. */
void hf_pg_calls_put_back(struct hf_pg *pg, struct hf_pg_call *call, bool next);

/* Did this ENTER run before a call that was sent earlier and has to be sent again? */
bool hf_pg_calls_overtaken(const struct hf_pg_calls *queue,
                           const struct hf_pg_call  *call);

/* The call may be gone after this. */
void hf_pg_call_answer(struct hf_pg *pg, struct hf_pg_call *call, const PGresult *result);

/* ---- call.c, for link.c -------------------------------------------------------------- */

/* Send as many calls as may be in flight; take the answers that have arrived.  False: the
 * connection broke, or an answer ended it. */
bool hf_pg_calls_send(struct hf_pg *pg);
bool hf_pg_calls_take(struct hf_pg *pg);

/* ---- function.c: the functions of the schema ------------------------------------- */

/* What to send next for a call: the call itself, or something that comes before it. */
enum hf_pg_step {
    HF_PG_RUN,
    HF_PG_TUNE,
    HF_PG_PREPARE,
};

/* What to do with a call after a step of it was answered. */
enum hf_pg_next {
    HF_PG_OVER,
    HF_PG_GO_ON, /* send its next step */
    HF_PG_AGAIN, /* send the same step in another way */
};

int             hf_pg_function_count(enum hf_pg_function function); /* of its arguments */
enum hf_pg_step hf_pg_function_step(const struct hf_pg_link *link,
                                    const struct hf_pg_call *call);
int             hf_pg_function_send(struct hf_pg_link *link,
                                    struct hf_pg_call *call); /* 1 or 0, as libpq says */
enum hf_pg_next hf_pg_function_next(struct hf_pg_link       *link,
                                    const struct hf_pg_call *call,
                                    const PGresult          *result);

#endif
