/* link.h - the lower half of the PostgreSQL store: the connection, and calls on it.
 * See inner.h for the upper one. */
#ifndef HF_PG_LINK_H
#define HF_PG_LINK_H

#include "core/retry.h"
#include "net/resolve.h"
#include "store/store.h"

#include <libpq-fe.h>

struct hf_pg;

/* ---- config.c: what a URL says ------------------------------------------------------- */

struct hf_pg_config {
    char   *conninfo;  /* for libpq, without our own parameters; may have a password in it */
    char    shown[160]; /* "host:port/database", for messages */
    char   *host;      /* a single name to be looked up by us; NULL: libpq's affair */
    char   *port;
    hf_time ttl;
    bool    polling; /* never LISTEN, as behind a pooler */
};

int  hf_pg_config_init(struct hf_pg_config *ret, const struct hf_config *config,
                       char *errmsg);
void hf_pg_config_finish(struct hf_pg_config *config);

/* ---- call.c: functions of the schema, called one after the other -------------------------
 *
 * One query is under way at a time; the others wait, urgent ones in front. */

enum hf_pg_function {
    HF_PG_HELLO,
    HF_PG_MEND,
    HF_PG_RENEW,
    HF_PG_NEWS,
    HF_PG_BURY,
    HF_PG_BYE,
    HF_PG_ENTER,
    HF_PG_LEAVE,
    HF_PG_READ,
    HF_PG_AMEND,
    HF_PG_WATCH,
    HF_PG_BREAK,
    HF_PG_ASK,
    HF_PG_PROVE,
    HF_PG_LIST,
    HF_PG_LOOK, /* for EXAMINE */
    HF_PG_FUNCTIONS,
};

/* `result` is lent for the call; NULL: the connection broke before there was one. */
typedef void hf_pg_on_result(struct hf_pg *pg, void *data, const PGresult *result);

/* Part of whoever makes the call; must stay in place until it is answered. */
struct hf_pg_call {
    enum hf_pg_function function;
    char               *params; /* ours: texts, each with its NUL */
    size_t              size;   /* of them together */
    int                 count;
    hf_time             sent; /* 0: not yet */
    hf_pg_on_result    *on_result;
    void               *data;
    struct hf_pg_call  *next;
    bool                flying; /* waits, or is under way */
    char               *text;   /* a query to be sent as it is, instead of a function */
};

/* Call a function: begin; add its arguments; and send it. */
void hf_pg_begin(struct hf_pg *pg, enum hf_pg_function function);
void hf_pg_add(struct hf_pg *pg, const char *text);
void hf_pg_add_number(struct hf_pg *pg, int64_t number);
void hf_pg_add_bool(struct hf_pg *pg, bool value);
/* "{1,2,3}" */
void hf_pg_add_numbers(struct hf_pg *pg, const uint64_t *number, size_t count);
void hf_pg_send(struct hf_pg *pg, struct hf_pg_call *call, bool urgent,
                hf_pg_on_result *on_result, void *data);

/* A query of no arguments, such as LISTEN. */
void hf_pg_query(struct hf_pg *pg, struct hf_pg_call *call, const char *text,
                 hf_pg_on_result *on_result, void *data);

/* The parts of a result; 0, NULL and false where there is none. */
int64_t     hf_pg_number(const PGresult *result, int row, int column);
const char *hf_pg_text(const PGresult *result, int row, int column);
bool        hf_pg_bool(const PGresult *result, int row, int column);

/* ---- link.c: find the server, connect -------------------------------------------------------
 *
 * When connected it calls hf_pg_session_begin(); that ends with hf_pg_link_ready().  Should
 * the connection break at any time, link.c calls hf_pg_session_broken(), having answered
 * all calls with NULL.  A NOTIFY is given to hf_pg_on_notify(). */

enum hf_pg_phase {
    HF_PG_RESTING,    /* until `due` */
    HF_PG_RESOLVING,  /* the host's name */
    HF_PG_CONNECTING, /* libpq is at it */
    HF_PG_OPENING,    /* the session's hello is on its way */
    HF_PG_READY,
};

struct hf_pg_link {
    enum hf_pg_phase   phase;
    PGconn            *conn;
    int                fd; /* of it, as epoll and fork guard know it; -1: none */
    unsigned           polled;
    struct hf_resolve *resolve;
    struct hf_address  address[HF_RESOLVE_MAX];
    int                addresses, next_address;
    unsigned           resolve_polled;
    struct hf_retry    retry;
    hf_time            due;     /* RESTING: try then; else give up then */
    bool               refused; /* it makes no sense to try again soon */
    int                refusal; /* the HF_E... of everything then */
    bool               pooled;  /* there is a pooler between: no LISTEN, nothing prepared */
    bool               prepared[HF_PG_FUNCTIONS];
    bool               preparing; /* the call under way is being prepared first */
    struct hf_pg_call *first, *last; /* the first is under way if `busy` */
    bool               busy;
    bool               again; /* there may be more to read, though nobody looked */
};

void    hf_pg_link_init(struct hf_pg *pg, uint64_t seed);
void    hf_pg_link_finish(struct hf_pg *pg);
void    hf_pg_link_run(struct hf_pg *pg, bool readable);
void    hf_pg_link_flush(struct hf_pg *pg); /* send the next call, if none is under way */
hf_time hf_pg_link_wake(const struct hf_pg *pg);
void    hf_pg_link_ready(struct hf_pg *pg);

/* Give the connection up and try again soon; `why` as a clause about the server: "does not
 * answer"; NULL: base.errmsg says it already. */
void hf_pg_link_break(struct hf_pg *pg, const char *why);

/* The same, but it makes no sense to try again soon: whoever asks is told `status` and
 * base.errmsg at once; tried again a second later. */
void hf_pg_link_refuse(struct hf_pg *pg, int status, const char *why);

/* ---- fault.c ------------------------------------------------------------------------------------ */

/* What a failed result means. */
enum hf_pg_fault {
    HF_PG_FINE,      /* it did not fail */
    HF_PG_AGAIN,     /* serialisation, deadlock: ask again */
    HF_PG_DOWN,      /* the server ends or is starting, is read-only, or has no room: connect
                        anew */
    HF_PG_NO_SCHEMA, /* the schema, or a function of it, is not there */
    HF_PG_DENIED,    /* password, permission: HF_EDENIED */
    HF_PG_FAILED,    /* anything else: HF_ESTORE */
};

/* Tell; and say it in base.errmsg, in words for a person: which server, what to do. */
enum hf_pg_fault hf_pg_fault(struct hf_pg *pg, const PGresult *result);

/* ---- schema.c -------------------------------------------------------------------------------------- */

/* Make the schema, or bring it to our version; then `done` is called with the result of
 * that (NULL: the connection broke). */
void hf_pg_schema_make(struct hf_pg *pg, hf_pg_on_result *done);

#define HF_PG_SCHEMA_VERSION 1

#endif
