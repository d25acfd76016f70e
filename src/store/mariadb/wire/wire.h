/* wire.h - a connection to a MariaDB or MySQL server, in their own protocol.
 *
 * libmariadb is not used: under TLS its non-blocking calls block, for seconds if the
 * server hangs, and process() must never wait.
 *
 *   packet.c   packets, and the numbers and texts in them
 *   login.c    from the server's greeting to its OK: TLS, user, password
 *   auth.c     proofs of the password, one for each plugin
 *   query.c    statements: trusted text, and values of any bytes
 *   reply.c    the packets of an answer: rows, OK, error
 *   conn.c     the connection, and the calls on it
 *
 * The owner embeds a struct hf_my_conn for each connection, and gives its three functions
 * to the dial.  In GREETING:
 *
 *      the server                            we
 *      greeting: version, capabilities -->
 *                                        <-- SSLRequest, if login->tls is set; then TLS
 *                                        <-- capabilities, user, proof, database
 *      another plugin, more data       -->
 *                                        <-- proof
 *      OK                              -->   on_login(): the owner's first calls, and
 *                                            hf_dial_ready() when the answers suit it
 *
 * The server answers calls in the order in which they were sent, and any number may be in
 * flight.  Nothing that it sends is trusted: packets of the wrong length, order or
 * kind end the connection.  An answer may have 256 MB, a packet 16 MB.
 */
#ifndef HF_MY_WIRE_H
#define HF_MY_WIRE_H

#include "store/remote/dial.h"

#include <stdint.h>

struct hf_my_conn;

/* ---- packet.c --------------------------------------------------------------------- */

#define HF_MY_HEAD       4        /* bytes before each packet: its length and number */
#define HF_MY_PACKET_MAX 0xfffffe /* one of 0xffffff bytes would be continued */

/* Reads a packet.  After the first thing that is not there, `bad` is set, and all that is
 * read is 0 or empty. */
struct hf_my_reader {
    const unsigned char *at, *end;
    bool                 bad;
};

struct hf_my_text {
    const char *data; /* NULL: SQL's NULL */
    size_t      size;
};

struct hf_my_reader hf_my_reader_on(const void *packet, size_t size);
size_t              hf_my_left(const struct hf_my_reader *reader);
uint64_t            hf_my_get(struct hf_my_reader *reader, int bytes); /* up to 8 */
uint64_t            hf_my_get_length(struct hf_my_reader *reader); /* "length-encoded" */
struct hf_my_text   hf_my_get_bytes(struct hf_my_reader *reader, size_t size);
struct hf_my_text   hf_my_get_field(struct hf_my_reader *reader);  /* may be NULL */
struct hf_my_text   hf_my_get_string(struct hf_my_reader *reader); /* up to a NUL */

/* Writes `bytes` bytes of a number.  Returns the end of them. */
unsigned char *hf_my_put(unsigned char *at, uint64_t number, int bytes);

/* ---- query.c ---------------------------------------------------------------------- */

/* A statement while it is built:
 *
 *     hf_my_query_begin(&query, "CALL enter(");
 *     hf_my_query_number(&query, 7);
 *     hf_my_query_text(&query, name);
 *     hf_my_query_put(&query, ")");
 *
 * Values are separated by commas.  Texts become x'68656c6c6f', which is safe whatever
 * sql_mode and character sets are; they are of type VARBINARY.  Zero it before the first
 * use.  The memory is used again for the next statement. */
struct hf_my_query {
    char  *text;
    size_t used, room;
    bool   separate; /* a comma comes first */
    bool   failed;   /* out of memory, or longer than a packet */
};

void hf_my_query_begin(struct hf_my_query *query, const char *trusted);
void hf_my_query_put(struct hf_my_query *query, const char *trusted);
void hf_my_query_number(struct hf_my_query *query, int64_t number);
void hf_my_query_unsigned(struct hf_my_query *query, uint64_t number);
void hf_my_query_text(struct hf_my_query *query, const char *text); /* NULL is SQL's */
void hf_my_query_bytes(struct hf_my_query *query, const void *data, size_t size);
void hf_my_query_finish(struct hf_my_query *query);

/* ---- reply.c ---------------------------------------------------------------------- */

/* The answer to a call.  CALL, or several statements in one call, may give several results;
 * all their rows are here, one after the other.  With an error, rows that came before it
 * stay. */
struct hf_my_reply {
    unsigned error;        /* the server's number of it; 0: none */
    char     state[6];     /* its SQLSTATE, "HY000" if the server names none */
    char     message[256]; /* its text, cut to fit; UTF-8 */
    uint64_t changed;      /* rows that the last statement changed */
    unsigned warnings;     /* of the last statement */
    unsigned status;       /* HF_MY_IN_TRANSACTION and the like, after it */
    unsigned results;      /* results with rows */
    size_t   rows;         /* of all of them */

    /* for reply.c */
    struct hf_my_row   *row;
    size_t              row_room;
    struct hf_my_field *field;
    size_t              fields, field_room;
    char               *bytes; /* of all fields, each with a NUL behind it */
    size_t              used, room;
    int                 step;
    uint64_t            columns, described; /* of the result in progress */
};

#define HF_MY_IN_TRANSACTION 0x0001
#define HF_MY_AUTOCOMMIT     0x0002
#define HF_MY_MORE_RESULTS   0x0008

/* A field; 0, NULL or false if there is no such row or column, or it is NULL.  A text has a
 * NUL behind it, and is lent as long as the reply.  A number is 0, too, if the field is
 * none: check hf_my_is_number() where that matters. */
const char *hf_my_text(const struct hf_my_reply *reply, size_t row, size_t column);
size_t      hf_my_size(const struct hf_my_reply *reply, size_t row, size_t column);
int64_t     hf_my_number(const struct hf_my_reply *reply, size_t row, size_t column);
uint64_t    hf_my_unsigned(const struct hf_my_reply *reply, size_t row, size_t column);
bool        hf_my_is_number(const struct hf_my_reply *reply, size_t row, size_t column);

size_t   hf_my_columns(const struct hf_my_reply *reply, size_t row);
unsigned hf_my_result(const struct hf_my_reply *reply, size_t row); /* which; from 0 */

/* For conn.c and tests: take the next packet of an answer.  1: it is complete; 0: more
 * packets follow; HF_ESTORE: it makes no sense; HF_ENOMEM: or it is too long. */
int  hf_my_reply_take(struct hf_my_reply *reply, const void *packet, size_t size);
void hf_my_reply_clear(struct hf_my_reply *reply); /* for the next answer */
void hf_my_reply_finish(struct hf_my_reply *reply);

/* For login.c and conn.c: read an error packet. */
bool hf_my_reply_take_error(struct hf_my_reply *reply, const void *packet, size_t size);

/* ---- auth.c ----------------------------------------------------------------------- */

#define HF_MY_SCRAMBLE  20  /* bytes of the server's challenge */
#define HF_MY_PROOF_MAX 512 /* of any plugin; longer passwords are refused */

/* The proofs of mysql_native_password (20 bytes) and of the quick way of
 * caching_sha2_password (32 bytes).  They need OpenSSL, see hf_tls_load().  False: OpenSSL
 * refuses. */
bool hf_my_auth_native(const char *password, const unsigned char challenge[20],
                       unsigned char ret[20]);
bool hf_my_auth_sha2(const char *password, const unsigned char challenge[20],
                     unsigned char ret[32]);

/* The password for a server whose public key is `pem`.  Returns its length; 0: that is no
 * RSA key, or the password is too long for it. */
size_t hf_my_auth_rsa(const char *password, const unsigned char challenge[20],
                      struct hf_my_text pem, unsigned char ret[HF_MY_PROOF_MAX]);

/* ---- login.c ---------------------------------------------------------------------- */

/* Lent as long as the connection. */
struct hf_my_login {
    const char    *user;
    const char    *password; /* NULL or "": none; else OpenSSL must be loaded */
    const char    *database; /* NULL or "": none */
    struct hf_tls *tls;      /* NULL: plain.  (The dial's own `tls` must be NULL.) */
};

enum hf_my_stage {
    HF_MY_GREETING, /* the server's comes first */
    HF_MY_SECURING, /* SSLRequest is being sent, or TLS shakes hands */
    HF_MY_PROVING,
    HF_MY_IN, /* logged in */
};

/* Take a packet of the server before HF_MY_IN.  What goes wrong ends the connection: by
 * hf_dial_deny() if another try would not help. */
void hf_my_login_take(struct hf_my_conn *conn, const void *packet, size_t size);

/* HF_MY_SECURING: go on.  False: not yet, or it broke. */
bool hf_my_login_secure(struct hf_my_conn *conn);

/* ---- conn.c ----------------------------------------------------------------------- */

/* `reply` is lent for the call; NULL: the connection broke before there was one.  The
 * callback may send more calls, and may end the connection. */
typedef void hf_my_on_reply(struct hf_my_conn *conn, void *data,
                            const struct hf_my_reply *reply);

/* Embedded in the caller's own struct; must not move until it is answered. */
struct hf_my_call {
    hf_time            sent;
    hf_my_on_reply    *on_reply; /* NULL: the answer does not matter */
    void              *data;
    struct hf_my_call *next;
    bool               flying;
};

struct hf_my_conn {
    struct hf_dial dial; /* first: they are cast */

    /* Set by the owner before hf_dial_init(), all else zero. */
    const struct hf_my_login *login;
    void (*on_login)(struct hf_my_conn *conn); /* GREETING: the server has accepted us */

    /* Read by the owner. */
    uint32_t           thread;      /* the server's number of this connection, for KILL */
    char               version[64]; /* of the server: "10.11.6-MariaDB-0+deb12u1" */
    struct hf_my_call *first;       /* in flight, in order; NULL: none */

    /* for conn.c */
    struct hf_my_call *last;
    unsigned char     *in; /* received bytes: less than a packet, after each read */
    size_t             used, room;
    unsigned char      number; /* of the next packet of the server */
    struct hf_my_reply reply;  /* to the first call, so far */

    /* for login.c */
    enum hf_my_stage stage;
    uint32_t         capabilities; /* the server's */
    char             plugin[64];   /* of the proof that we sent last */
    unsigned char    challenge[HF_MY_SCRAMBLE];
    unsigned         steps; /* packets of the server so far */
    bool             key_wanted;
};

/* For struct hf_dial_ops.  `over` answers the calls in flight with NULL; an owner with more
 * to do then calls it from a function of its own. */
void hf_my_conn_greet(struct hf_dial *dial);
void hf_my_conn_read(struct hf_dial *dial);
void hf_my_conn_over(struct hf_dial *dial);

/* Queue a statement for the next hf_dial_flush().  It must not have failed, and on_login()
 * must have been called on this connection. */
void hf_my_send(struct hf_my_conn *conn, struct hf_my_call *call,
                const struct hf_my_query *query, hf_my_on_reply *on_reply, void *data);

/* Say goodbye if we are logged in, close the dial, and free what the connection had. */
void hf_my_conn_finish(struct hf_my_conn *conn);

/* For login.c: a packet for the next flush; NULL: out of memory, and the connection will
 * break. */
unsigned char *hf_my_packet(struct hf_my_conn *conn, size_t size);

#endif
