/* link.h - the lower half of the PostgreSQL store: the connection, and calls on it.
 * See inner.h for the upper one. */
#ifndef HF_PG_LINK_H
#define HF_PG_LINK_H

#include "net/aside.h"
#include "store/postgres/pq.h"
#include "store/remote/dial.h"
#include "store/served/served.h"

struct hf_pg;

/* ---- config.c: what a URL says -------------------------------------------------- */

#define HF_PG_SERVERS 16

struct hf_pg_config {
    PQconninfoOption *option; /* what the URL sets, but for our own parameters; there may
                                   be a password among them */
    /* Tried one by one.  The host is a name, an address, the folder of a socket; or "", as the
     * port may be: libpq's default. */
    struct hf_server server[HF_PG_SERVERS];
    char    hostaddr[HF_PG_SERVERS][64]; /* "": to be looked up, if it is a name */
    size_t  servers;
    hf_time ttl;
    bool    polling; /* never LISTEN, as behind a pooler */
    int     history; /* how much is to be kept; -1: as it is */
};

int  hf_pg_config_init(struct hf_pg_config *ret, const struct hf_config *config,
                       char *errmsg);
void hf_pg_config_finish(struct hf_pg_config *config);

/* The value of one of libpq's parameters, or "". */
const char *hf_pg_option(const PQconninfoOption *option, const char *key);
void        hf_pg_options_free(PQconninfoOption *option); /* wiped before */

/* ---- servers.c ------------------------------------------------------------------ */

/* For config.c: find them in the options. */
int hf_pg_config_servers(struct hf_pg_config *ret, char *errmsg);

/* "host:port/database" of one of the servers. */
const char *hf_pg_config_show(const struct hf_pg_config *config, size_t server, char *ret,
                              size_t size);

#define HF_PG_KEYWORDS 96

/* What we call ourselves to people: "holdfast 1.2.3". */
#define HF_PG_STRING_(x)        #x
#define HF_PG_VERSION_(a, b, c) HF_PG_STRING_(a) "." HF_PG_STRING_(b) "." HF_PG_STRING_(c)
#define HF_PG_WHO \
    "holdfast " HF_PG_VERSION_(HF_VERSION_MAJOR, HF_VERSION_MINOR, HF_VERSION_PATCH)

/* For PQconnectStartParams(); all lent. */
struct hf_pg_keywords {
    const char *key[HF_PG_KEYWORDS];
    const char *value[HF_PG_KEYWORDS];
    size_t      count;
};

void hf_pg_config_keywords(const struct hf_pg_config *config, size_t server,
                           const char *hostaddr, struct hf_pg_keywords *ret);

/* ---- call.c: calls of the server ----------------------------------------------------
 *
 * Some are under way, in the order in which they were sent; the others wait, urgent ones in
 * front. */

enum hf_pg_function {
    HF_PG_HELLO,
    HF_PG_MEND,
    HF_PG_RENEW,
    HF_PG_NEWS,
    HF_PG_BURY,
    HF_PG_SWEEP,
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
    HF_PG_SURVEY,
    HF_PG_KEEP, /* history */
    HF_PG_HISTORY,
    HF_PG_EXAMINE,
    HF_PG_FUNCTIONS,
};

/* `result` is lent for the call; NULL: the connection broke before there was one. */
typedef void hf_pg_on_result(struct hf_pg *pg, void *data, const PGresult *result);

#define HF_PG_ARGS 16

/* Part of whoever makes the call; must stay in place until it is answered. */
struct hf_pg_call {
    enum hf_pg_function function;
    char               *params; /* ours: texts, each with its NUL; or a query as it is */
    size_t              room;
    int                 count;  /* of params; -1: there is no memory for them */
    unsigned            nulls;  /* which of them are NULL */
    hf_time             sent;   /* 0: not yet */
    uint64_t            number; /* in the order of first sending */
    hf_pg_on_result    *on_result;
    void               *data;
    struct hf_pg_call  *next;
    bool                flying; /* waits, or is under way */
    bool                urgent;
    bool                plain;    /* params is a query */
    bool                prepared; /* ... was called as it was prepared */
    bool                retried;
};

struct hf_pg_calls {
    struct hf_pg_call *first, *last;
    unsigned           count;
};

/* Arguments while they are gathered. */
struct hf_pg_args {
    enum hf_pg_function function;
    char               *text;
    size_t              used, room;
    int                 count;
    unsigned            nulls;
    bool                failed; /* no memory */
};

void hf_pg_args_finish(struct hf_pg_args *args);

/* Call a function: begin; add its arguments (value.c); and send it. */
void hf_pg_begin(struct hf_pg *pg, enum hf_pg_function function);
void hf_pg_add(struct hf_served *served, const char *text); /* NULL is SQL's NULL */
void hf_pg_add_number(struct hf_served *served, uint64_t number);
void hf_pg_add_bool(struct hf_served *served, bool value);
/* "{1,2,3}" */
void hf_pg_add_numbers(struct hf_served *served, const uint64_t *number, size_t count);
void hf_pg_send(struct hf_pg *pg, struct hf_pg_call *call, bool urgent,
                hf_pg_on_result *on_result, void *data);

/* A query of no arguments, such as LISTEN. */
void hf_pg_query(struct hf_pg *pg, struct hf_pg_call *call, const char *text,
                 hf_pg_on_result *on_result, void *data);

/* For link.c: send what can be sent; take answers that are there; answer all with NULL.
 * False: the connection broke, or an answer ended it. */
bool hf_pg_calls_send(struct hf_pg *pg);
bool hf_pg_calls_take(struct hf_pg *pg);
void hf_pg_calls_drop(struct hf_pg *pg);

/* One that was not sent yet is not sent any more: it is answered with NULL. */
void hf_pg_call_drop(struct hf_pg *pg, struct hf_pg_call *call);

/* ---- function.c: the functions of the schema ------------------------------------- */

struct hf_pg_link;

/* What is sent of a call: itself, or what comes before. */
enum hf_pg_step {
    HF_PG_RUN,
    HF_PG_TUNE,
    HF_PG_PREPARE,
};

/* What becomes of it then. */
enum hf_pg_next {
    HF_PG_OVER,
    HF_PG_GO_ON, /* its next step */
    HF_PG_AGAIN, /* the same, otherwise */
};

int             hf_pg_function_count(enum hf_pg_function function); /* of its arguments */
enum hf_pg_step hf_pg_function_step(const struct hf_pg_link *link,
                                    const struct hf_pg_call *call);
int             hf_pg_function_send(struct hf_pg_link *link,
                                    struct hf_pg_call *call); /* 1, 0: libpq's */
enum hf_pg_next hf_pg_function_next(struct hf_pg_link       *link,
                                    const struct hf_pg_call *call,
                                    const PGresult          *result);

/* value.c: the parts of a result; 0, NULL and false where there is none. */
int64_t     hf_pg_number(const PGresult *result, int row, int column);
const char *hf_pg_text(const PGresult *result, int row, int column);
bool        hf_pg_bool(const PGresult *result, int row, int column);

/* ---- link.c ------------------------------------------------------------------------
 *
 * When connected it calls hf_pg_session_begin(); that ends with hf_dial_ready().  Should
 * the connection break at any time, link.c calls hf_pg_session_broken(), having answered
 * all calls with NULL.  A NOTIFY is given to hf_served_message(). */

/* cancel.c: the server is to stop what it does for a connection that we gave up. */
struct hf_pg_cancel {
    struct hf_aside *aside; /* NULL: there is nothing to be stopped */
    PGconn          *conn;
    struct hf_polled polled;
    size_t           server;
    unsigned         generation;
    hf_time          limit; /* it is not waited for any longer */
};

struct hf_pg_link {
    PGconn  *conn;
    unsigned generation;  /* of the process that opened it */
    int      fd;          /* of it, as the fork guard knows it; -1: none */
    bool     pooled;      /* there is a pooler between: nothing is prepared */
    char     parting[96]; /* why the server ends the connection: a clause */
    char     warning[96]; /* what it warned of during the call: a clause */

    struct hf_pg_cancel cancel;

    /* call.c's */
    struct hf_pg_calls queue, flight;
    enum hf_pg_step    step;      /* of the last that was sent; only RUN has company */
    bool               pipelined; /* libpq is in that mode */
    bool               ended;     /* the oldest is answered, but for its sync */
    bool               let_be;    /* what is under way need not be stopped */
    unsigned           window;    /* how many may be under way */
    hf_time            progress;  /* the last answer came */
    uint64_t           numbers;   /* given to calls */
    PGresult          *result;    /* of the oldest, so far */
    bool               tuned;     /* function.c's */
    unsigned char      use[HF_PG_FUNCTIONS];
    struct hf_pg_call  schema; /* schema.c's */
};

void hf_pg_link_init(struct hf_pg *pg, uint64_t seed);
void hf_pg_link_finish(struct hf_pg *pg);
void hf_pg_link_flush(struct hf_pg *pg); /* send what waits */

/* How long the server may take for a call. */
hf_time hf_pg_link_limit(const struct hf_pg *pg);

/* It took longer: give the connection up, and try the next server first. */
void hf_pg_link_hung(struct hf_pg *pg);

/* How long a cancel is waited for. */
hf_time hf_pg_cancel_limit(const struct hf_pg *pg);

/* connect.c, for the dial's ops: begin; and go on. */
void hf_pg_connect(struct hf_dial *dial, const struct hf_address *address);
void hf_pg_connect_step(struct hf_dial *dial);

/* Take over the connection, on which calls are under way.  It is closed when the server
 * was told, or by end(), at the latest. */
void hf_pg_cancel_begin(struct hf_pg *pg);
void hf_pg_cancel_end(struct hf_pg *pg);
void hf_pg_cancel_run(struct hf_pg *pg);
/* Must it be over before the server that is next is connected to? */
bool    hf_pg_cancel_is_awaited(const struct hf_pg *pg);
hf_time hf_pg_cancel_wake(const struct hf_pg *pg);
/* Wait, for those who have no time to come again. */
void hf_pg_cancel_await(struct hf_pg *pg, hf_time end);

/* ---- fault.c -------------------------------------------------------------------- */

/* What a failed result means.  base.errmsg tells it to a person: which server, what to
 * do.  NULL is DOWN, and base.errmsg says why already. */
enum hf_served_fault hf_pg_fault(struct hf_pg *pg, const PGresult *result);

/* The same by an SQLSTATE ("" if there is none) and the server's own words, as a clause
 * about the server. */
enum hf_served_fault hf_pg_fault_clause(const char *state, const char *message, char *ret,
                                        size_t size);

/* It could not be connected to, for libpq's reasons given with verbosity
 * PQERRORS_VERBOSE.  0: try again soon, it may be `absent`; else hf_dial_deny() with
 * that. */
int hf_pg_fault_connect(const char *message, bool no_password, char *ret, size_t size,
                        bool *absent);

/* What libpq says, as one short line. */
void hf_pg_fault_line(const char *message, char *ret, size_t size);

/* ---- socket.c ------------------------------------------------------------------- */

/* Begin to connect; false: no memory.  A step of it.  The end. */
bool hf_pg_socket_open(struct hf_pg *pg, const struct hf_pg_keywords *keywords);
PostgresPollingStatusType hf_pg_socket_step(struct hf_pg *pg);
void                      hf_pg_socket_close(struct hf_pg *pg);
void                      hf_pg_socket_reset(struct hf_pg *pg); /* the same, hard */

void hf_pg_socket_finish(PGconn *conn); /* cancel.c's, later */

/* Tell epoll what to look for.  False: no memory. */
bool hf_pg_socket_poll(struct hf_pg *pg, unsigned events);

/* ---- schema.c ------------------------------------------------------------------- */

/* Make the schema, unless there is another; then `done` is called with the result of
 * that (NULL: the connection broke). */
void hf_pg_schema_make(struct hf_pg *pg, hf_pg_on_result *done);

/* See hf_schema() in holdfast.h. */
char *hf_pg_schema_print(const char *role);

extern const unsigned hf_pg_schema_version;

#endif
