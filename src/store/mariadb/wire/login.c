/* login.c - from the server's greeting to its OK; see wire.h.
 *
 *   mysql_native_password   a proof by SHA1; MariaDB's usual one
 *   caching_sha2_password   a proof by SHA256, which the server can check only if it has
 *                           seen the password since its start; else it wants the password
 *                           itself: by TLS, on a Unix socket, or for the server's RSA key
 *   mysql_clear_password    the password itself, by TLS alone
 *
 * The server decides without us about unix_socket and the like, and takes any proof.
 * Without TLS, somebody between us and the server could replace its RSA key by another,
 * and read the password: docs/mariadb.md says so. */
#include "holdfast.h"
#include "store/mariadb/wire/wire.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define LONG_PASSWORD    0x00000001u /* MariaDB: we are no client with its extensions */
#define CONNECT_WITH_DB  0x00000008u
#define PROTOCOL_41      0x00000200u
#define SSL              0x00000800u
#define TRANSACTIONS     0x00002000u
#define SECURE           0x00008000u /* challenges of 20 bytes */
#define MULTI_STATEMENTS 0x00010000u /* a schema in one call */
#define MULTI_RESULTS    0x00020000u /* of CALL */
#define PLUGIN_AUTH      0x00080000u
#define NEEDED           (PROTOCOL_41 | SECURE | PLUGIN_AUTH)
#define OURS             (NEEDED | LONG_PASSWORD | TRANSACTIONS | MULTI_STATEMENTS | MULTI_RESULTS)

#define UTF8MB4   45
#define STEPS_MAX 8 /* packets of a server in one login */

#define NATIVE "mysql_native_password"
#define SHA2   "caching_sha2_password"
#define CLEAR  "mysql_clear_password"

/* In caching_sha2_password. */
#define ASK_KEY     2
#define PROVED      3
#define SEND_SECRET 4

static void speaks_wrongly(struct hf_my_conn *conn)
{
    hf_dial_break(&conn->dial, "does not speak MariaDB's protocol");
}

static const char *password_of(const struct hf_my_conn *conn)
{
    return conn->login->password != NULL ? conn->login->password : "";
}

/* Can nobody listen? */
static bool is_private(const struct hf_my_conn *conn)
{
    return conn->dial.stream.ssl != NULL || conn->dial.here.port[0] == '\0';
}

/* ---- Errors ----------------------------------------------------------------------- */

/* Busy, or shutting down: worth another try. */
static bool will_pass(unsigned error)
{
    static const unsigned passing[] = {
        1040,                   /* too many connections */
        1053,                   /* shutdown in progress */
        1135,                   /* cannot create a thread */
        1158, 1159, 1160, 1161, /* the network: errors and timeouts */
        1203,                   /* too many connections of this user */
        1226,                   /* max_user_connections and the like */
        1037, 1038, 1041,       /* out of memory */
        1927,                   /* killed */
    };

    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        if (passing[i] == error)
            return true;
    return false;
}

static void be_rejected(struct hf_my_conn *conn, const void *packet, size_t size)
{
    struct hf_my_reply *reply = &conn->reply;
    char                why[HF_ERRMSG_MAX];

    if (!hf_my_reply_take_error(reply, packet, size)) {
        speaks_wrongly(conn);
        return;
    }
    snprintf(why, sizeof why, "%s: %.180s (error %u)",
             reply->error == 1049 ? "has no such database" : "does not let us in",
             reply->message, reply->error);
    if (will_pass(reply->error))
        hf_dial_break(&conn->dial, why);
    else
        hf_dial_deny(&conn->dial, reply->error == 1049 ? HF_ENOTFOUND : HF_EDENIED, why);
}

static void deny_plugin(struct hf_my_conn *conn, const char *advice)
{
    char why[HF_ERRMSG_MAX];

    snprintf(why, sizeof why, "wants the password by the plugin %.60s, %s", conn->plugin,
             advice);
    hf_dial_deny(&conn->dial, HF_EDENIED, why);
}

/* ---- Proofs ----------------------------------------------------------------------- */

static void send_bytes(struct hf_my_conn *conn, const void *bytes, size_t size)
{
    unsigned char *at = hf_my_packet(conn, size);

    if (at != NULL && size > 0)
        memcpy(at, bytes, size);
}

/* The proof for conn->plugin.  False: we have none, and the connection is over. */
static bool make_proof(struct hf_my_conn *conn, unsigned char ret[HF_MY_PROOF_MAX],
                       size_t *size)
{
    const char *password = password_of(conn);
    bool        native = strcmp(conn->plugin, NATIVE) == 0, fine = true;

    *size = 0;
    if (strcmp(conn->plugin, CLEAR) == 0) {
        if (conn->dial.stream.ssl == NULL) {
            deny_plugin(conn, "which needs TLS");
            return false;
        }
        *size = strlen(password) + 1;
        if (*size > HF_MY_PROOF_MAX) {
            deny_plugin(conn, "and ours is too long for that");
            return false;
        }
        memcpy(ret, password, *size);
    } else if (!native && strcmp(conn->plugin, SHA2) != 0) {
        deny_plugin(conn, "which we do not have: create the user with another one, "
                          "such as " NATIVE);
        return false;
    } else if (password[0] != '\0') {
        *size = native ? 20 : 32;
        fine = native ? hf_my_auth_native(password, conn->challenge, ret)
                      : hf_my_auth_sha2(password, conn->challenge, ret);
    }
    if (!fine)
        hf_dial_deny(&conn->dial, HF_EDENIED,
                     "cannot be logged in to: OpenSSL refuses the hash");
    return fine;
}

/* The server has not cached our password. */
static void send_secret(struct hf_my_conn *conn)
{
    static const unsigned char ask = ASK_KEY;
    const char                *password = password_of(conn);

    if (is_private(conn)) {
        send_bytes(conn, password, strlen(password) + 1);
    } else {
        conn->key_wanted = true;
        send_bytes(conn, &ask, 1);
    }
}

static void send_encrypted(struct hf_my_conn *conn, struct hf_my_text pem)
{
    unsigned char secret[HF_MY_PROOF_MAX];
    size_t        size = hf_my_auth_rsa(password_of(conn), conn->challenge, pem, secret);

    conn->key_wanted = false;
    if (size > 0)
        send_bytes(conn, secret, size);
    else
        hf_dial_deny(&conn->dial, HF_EDENIED, "sends a public key that cannot be used");
}

static void take_more(struct hf_my_conn *conn, struct hf_my_reader reader)
{
    struct hf_my_text text = hf_my_get_bytes(&reader, hf_my_left(&reader));
    bool              one = text.size == 1 && strcmp(conn->plugin, SHA2) == 0;

    if (conn->key_wanted)
        send_encrypted(conn, text);
    else if (one && text.data[0] == SEND_SECRET)
        send_secret(conn);
    else if (!one || text.data[0] != PROVED)
        speaks_wrongly(conn);
}

/* The user has another plugin than we thought. */
static void take_switch(struct hf_my_conn *conn, struct hf_my_reader reader)
{
    unsigned char     proof[HF_MY_PROOF_MAX];
    size_t            size;
    bool              old = hf_my_left(&reader) == 0;
    struct hf_my_text name = hf_my_get_string(&reader);

    if (old || reader.bad || name.size >= sizeof conn->plugin) {
        hf_dial_deny(&conn->dial, HF_EDENIED,
                     old ? "wants the password in the way of MySQL 4.0, which is not safe"
                         : "wants the password by a plugin without a name");
        return;
    }
    memcpy(conn->plugin, name.data, name.size);
    conn->plugin[name.size] = '\0';
    memset(conn->challenge, 0, sizeof conn->challenge);
    if (hf_my_left(&reader) >= HF_MY_SCRAMBLE)
        memcpy(conn->challenge, reader.at, HF_MY_SCRAMBLE);
    else if (strcmp(conn->plugin, NATIVE) == 0 || strcmp(conn->plugin, SHA2) == 0) {
        speaks_wrongly(conn);
        return;
    }
    conn->key_wanted = false;
    if (make_proof(conn, proof, &size))
        send_bytes(conn, proof, size);
    explicit_bzero(proof, sizeof proof);
}

/* ---- Greetings -------------------------------------------------------------------- */

static uint32_t our_capabilities(const struct hf_my_conn *conn)
{
    const struct hf_my_login *login = conn->login;
    bool database = login->database != NULL && login->database[0] != '\0';

    return OURS | (login->tls != NULL ? SSL : 0) | (database ? CONNECT_WITH_DB : 0);
}

/* What SSLRequest and the login begin with. */
static unsigned char *put_capabilities(const struct hf_my_conn *conn, unsigned char *at)
{
    at = hf_my_put(at, our_capabilities(conn), 4);
    at = hf_my_put(at, HF_MY_PACKET_MAX, 4);
    *at++ = UTF8MB4;
    memset(at, 0, 23);
    return at + 23;
}

static unsigned char *put_string(unsigned char *at, const char *text)
{
    size_t size = strlen(text) + 1;

    memcpy(at, text, size);
    return at + size;
}

static void send_login(struct hf_my_conn *conn)
{
    const struct hf_my_login *login = conn->login;
    bool                      database = (our_capabilities(conn) & CONNECT_WITH_DB) != 0;
    unsigned char             proof[HF_MY_PROOF_MAX];
    size_t                    size;

    conn->stage = HF_MY_PROVING;
    if (!make_proof(conn, proof, &size))
        return;
    unsigned char *at =
        hf_my_packet(conn, 32 + strlen(login->user) + 1 + 1 + size +
                               (database ? strlen(login->database) + 1 : 0) +
                               strlen(conn->plugin) + 1);
    if (at != NULL) {
        at = put_string(put_capabilities(conn, at), login->user);
        *at++ = (unsigned char)size;
        memcpy(at, proof, size);
        at += size;
        if (database)
            at = put_string(at, login->database);
        put_string(at, conn->plugin);
    }
    explicit_bzero(proof, sizeof proof);
}

/* "5.5.5-" is there for old replicas, which wanted a single digit first. */
static void note_version(struct hf_my_conn *conn, struct hf_my_text version)
{
    if (version.size > 6 && memcmp(version.data, "5.5.5-", 6) == 0) {
        version.data += 6;
        version.size -= 6;
    }
    snprintf(conn->version, sizeof conn->version, "%.*s", (int)version.size,
             version.data);
    for (char *at = conn->version; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || (unsigned char)*at >= 0x7f)
            *at = '?';
}

/* Version 10 of the greeting.  False: it is none. */
static bool read_greeting(struct hf_my_conn *conn, struct hf_my_reader *reader)
{
    uint64_t          protocol = hf_my_get(reader, 1);
    struct hf_my_text version = hf_my_get_string(reader);
    uint64_t          thread = hf_my_get(reader, 4);
    struct hf_my_text first = hf_my_get_bytes(reader, 8);

    hf_my_get(reader, 1);
    uint64_t capabilities = hf_my_get(reader, 2);
    hf_my_get_bytes(reader, 3); /* character set, status */
    capabilities |= hf_my_get(reader, 2) << 16;
    hf_my_get_bytes(reader, 11); /* length of the challenge, nothing */
    struct hf_my_text second = hf_my_get_bytes(reader, HF_MY_SCRAMBLE - 8);
    if (reader->bad || protocol != 10 || version.size > 255)
        return false;
    note_version(conn, version);
    conn->thread = (uint32_t)thread;
    conn->capabilities = (uint32_t)capabilities;
    memcpy(conn->challenge, first.data, 8);
    memcpy(conn->challenge + 8, second.data, HF_MY_SCRAMBLE - 8);
    hf_my_get(reader, 1); /* NUL */
    struct hf_my_text plugin = hf_my_get_string(reader);
    bool              sha2 =
        plugin.size == strlen(SHA2) && memcmp(plugin.data, SHA2, plugin.size) == 0;
    snprintf(conn->plugin, sizeof conn->plugin, "%s", sha2 ? SHA2 : NATIVE);
    return true;
}

static void take_greeting(struct hf_my_conn *conn, struct hf_my_reader reader)
{
    if (!read_greeting(conn, &reader)) {
        speaks_wrongly(conn);
    } else if ((conn->capabilities & NEEDED) != NEEDED) {
        hf_dial_deny(&conn->dial, HF_EUNSUPPORTED,
                     "is too old: it has no authentication by plugins");
    } else if (conn->login->tls == NULL) {
        send_login(conn);
    } else if ((conn->capabilities & SSL) == 0) {
        hf_dial_deny(&conn->dial, HF_EDENIED,
                     "does not offer TLS (see ssl_cert and ssl_key in its settings)");
    } else {
        unsigned char *at = hf_my_packet(conn, 32);
        if (at != NULL)
            put_capabilities(conn, at);
        conn->stage = HF_MY_SECURING;
    }
}

void hf_my_login_take(struct hf_my_conn *conn, const void *packet, size_t size)
{
    struct hf_my_reader reader = hf_my_reader_on(packet, size);
    uint64_t            first = hf_my_get(&reader, 1);
    bool                fine = !reader.bad && conn->steps < STEPS_MAX;

    assert(conn->stage == HF_MY_GREETING || conn->stage == HF_MY_PROVING);
    conn->steps++;
    if (fine && first == 0xff)
        be_rejected(conn, packet, size);
    else if (fine && conn->stage == HF_MY_GREETING)
        take_greeting(conn, hf_my_reader_on(packet, size));
    else if (fine && first == 0x00)
        conn->stage = HF_MY_IN;
    else if (fine && first == 0x01)
        take_more(conn, reader);
    else if (fine && first == 0xfe)
        take_switch(conn, reader);
    else
        speaks_wrongly(conn);
}

/* ---- TLS -------------------------------------------------------------------------- */

bool hf_my_login_secure(struct hf_my_conn *conn)
{
    struct hf_dial   *dial = &conn->dial;
    struct hf_stream *stream = &dial->stream;
    char              why[HF_ERRMSG_MAX];

    assert(conn->stage == HF_MY_SECURING);
    if (stream->ssl != NULL) {
        hf_stream_step(stream);
    } else {
        hf_stream_flush(stream);
        if (stream->state == HF_STREAM_OPEN && stream->used == stream->done)
            hf_stream_secure(stream, conn->login->tls, dial->here.host);
    }
    if (stream->state == HF_STREAM_BROKEN && stream->denied) {
        snprintf(why, sizeof why, "cannot be reached: %.180s", stream->errmsg);
        hf_dial_deny(dial, HF_EDENIED, why);
        return false;
    }
    if (stream->state == HF_STREAM_OPEN && stream->ssl != NULL)
        send_login(conn);
    hf_dial_flush(dial);
    return dial->phase >= HF_DIAL_GREETING && conn->stage == HF_MY_PROVING;
}
