/* link.h - the connection to the server.
 *
 * When connected it calls hf_pg_session_begin(), which ends with hf_dial_ready().  If
 * the connection breaks it answers all calls with NULL, then calls
 * hf_pg_session_broken().  It passes each NOTIFY to hf_served_message(). */
#ifndef HF_PG_LINK_H
#define HF_PG_LINK_H

#include "net/aside.h"
#include "store/postgres/call/call.h"
#include "store/postgres/url/config.h"
#include "store/remote/dial.h"

/* cancel.c: a connection that we gave up, while the server is asked to stop its call. */
struct hf_pg_cancel {
    struct hf_aside *aside; /* NULL: nothing is being canceled */
    PGconn          *conn;
    struct hf_polled polled;
    size_t           server;
    unsigned         generation;
    hf_time          limit; /* give up waiting then */
};

struct hf_pg_link {
    bool     let_in; /* libpq has connected before, with the files of the URL */
    PGconn  *conn;
    unsigned generation;     /* of the process that opened it */
    int      fd;             /* its socket, registered with the fork guard; -1: none */
    bool     pooled;         /* there is a pooler between: prepare nothing */
    char     end_reason[96]; /* server text: why the server ends the connection */
    char     warning[96];    /* server text: its warning during the call */

    struct hf_pg_cancel cancel;

    /* for call.c */
    struct hf_pg_calls queue, flight;
    enum hf_pg_step    step; /* of the call sent last; only RUN calls share the flight */
    bool               pipelined; /* libpq is in pipeline mode */
    bool               ended; /* the oldest call's result is complete, its sync is not */
    bool               skip_cancel; /* do not cancel the call in flight */
    unsigned           window;      /* how many calls may be in flight */
    hf_time            progress;    /* when the last answer came */
    uint64_t           numbers;     /* given to calls */
    PGresult          *result;      /* of the oldest call, so far */

    /* for function.c */
    bool          tuned;
    unsigned char use[HF_PG_FUNCTIONS];

    struct hf_pg_call schema; /* for schema.c */
};

/* ---- link.c ----------------------------------------------------------------------- */

void hf_pg_link_init(struct hf_pg *pg, uint64_t seed);
void hf_pg_link_finish(struct hf_pg *pg);
void hf_pg_link_flush(struct hf_pg *pg); /* send what is queued */

/* How long the server may take for a call. */
hf_time hf_pg_link_limit(const struct hf_pg *pg);

/* It took longer: give up the connection, and try the next server first. */
void hf_pg_link_hung(struct hf_pg *pg);

/* ---- connect.c, for the dial's ops -------------------------------------------------- */

void hf_pg_connect(struct hf_dial *dial, const struct hf_address *address);
void hf_pg_connect_step(struct hf_dial *dial);

/* ---- cancel.c --------------------------------------------------------------------- */

/* Take over the connection, with calls in flight, and cancel them.  It is closed when the
 * server has the request, or by hf_pg_cancel_end(). */
void    hf_pg_cancel_begin(struct hf_pg *pg);
void    hf_pg_cancel_end(struct hf_pg *pg);
void    hf_pg_cancel_run(struct hf_pg *pg);
hf_time hf_pg_cancel_wake(const struct hf_pg *pg);

/* Must it end before we connect to the next server? */
bool hf_pg_cancel_is_awaited(const struct hf_pg *pg);

/* How long to wait for a cancel; and, at close, wait for it. */
hf_time hf_pg_cancel_limit(const struct hf_pg *pg);
void    hf_pg_cancel_await(struct hf_pg *pg, hf_time end);

/* ---- fault.c -------------------------------------------------------------------- */

/* What a failed result means.  base.errmsg says it for people: which server, what to do.
 * NULL is DOWN, and base.errmsg says why already. */
enum hf_served_fault hf_pg_fault(struct hf_pg *pg, const PGresult *result);

/* The same for an SQLSTATE ("" if there is none) and the server's own message; as a
 * server text, to follow the server's name. */
enum hf_served_fault hf_pg_fault_text(const char *state, const char *message, char *ret,
                                      size_t size);

/* Why libpq could not connect, from its message with verbosity PQERRORS_VERBOSE.  0:
 * try again soon; `absent`: nothing answers there.  Else call hf_dial_deny() with that
 * error. */
int hf_pg_fault_connect(const char *message, bool no_password, char *ret, size_t size,
                        bool *absent);

/* A message of libpq as one short line. */
void hf_pg_fault_line(const char *message, char *ret, size_t size);

/* ---- socket.c ------------------------------------------------------------------- */

/* Start to connect; false: out of memory. */
bool hf_pg_socket_open(struct hf_pg *pg, const struct hf_pg_keywords *keywords);
PostgresPollingStatusType hf_pg_socket_step(struct hf_pg *pg);
void                      hf_pg_socket_close(struct hf_pg *pg);
void                      hf_pg_socket_reset(struct hf_pg *pg); /* close with a RST */

void hf_pg_socket_finish(PGconn *conn); /* for cancel.c */

/* Set the events that epoll reports.  False: out of memory. */
bool hf_pg_socket_poll(struct hf_pg *pg, unsigned events);

#endif
