/* fault.c - what the errors of a server and of libpq mean, and how we report them.
 *
 * We tell errors apart by SQLSTATE, since the server's texts may be in any language.
 * If libpq cannot connect, the state is only in its message.  libpq's own errors have
 * no state, and we recognise them by their English text.  After an unknown error we try
 * again.
 */
#include "store/postgres/inner.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct meaning {
    const char          *state; /* a prefix of the SQLSTATE */
    enum hf_served_fault fault;
    const char
        *text; /* to follow the server's name.  NULL or an end of ": ": add its message */
};

static const struct meaning meanings[] = {
    { "40001", HF_SERVED_AGAIN, "had to undo it: a conflict with another transaction" },
    { "40P01", HF_SERVED_AGAIN, "had to undo it: a deadlock" },
    { "55P03", HF_SERVED_AGAIN,
      "had to undo it: a lock was not available (lock_timeout)" },
    { "57P01", HF_SERVED_DOWN,
      "is shutting down, or an administrator ended our connection" },
    { "57P02", HF_SERVED_DOWN, "is restarting: one of its processes crashed" },
    { "57P03", HF_SERVED_DOWN, "is starting up or shutting down" },
    { "57P04", HF_SERVED_DOWN, "has dropped the database" },
    { "57P05", HF_SERVED_DOWN,
      "ended our connection because it was idle (idle_session_timeout)" },
    { "57014", HF_SERVED_DOWN, "stopped our query (statement_timeout?)" },
    { "53300", HF_SERVED_DOWN, "has no connection left for us (max_connections)" },
    { "25006", HF_SERVED_DOWN, "is read-only: a standby?" },
    { "25P02", HF_SERVED_DOWN, "is in a transaction that failed" },
    { "25P03", HF_SERVED_DOWN,
      "ended our connection (idle_in_transaction_session_timeout)" },
    { "08", HF_SERVED_DOWN, NULL },
    { "3F000", HF_SERVED_MISSING, "has no schema \"holdfast\"" },
    { "42703", HF_SERVED_FAILED, "has a schema \"holdfast\" that is not ours" },
    { "42883", HF_SERVED_MISSING, "has no schema \"holdfast\" of our version" },
    { "42P01", HF_SERVED_MISSING, "has no schema \"holdfast\" of our version" },
    { "42704", HF_SERVED_MISSING, "has no schema \"holdfast\" of our version" },
    { "42501", HF_SERVED_DENIED, NULL },
    { "HF003", HF_SERVED_DENIED,
      "has a schema \"holdfast\" that is not of our version, and we may not change "
      "it: " },
    { "HF004", HF_SERVED_OTHER,
      "has a schema \"holdfast\" of another version than ours: " },
    { "22P05", HF_SERVED_FAILED,
      "cannot store that name because its database is not in UTF-8: " },
    { "28P01", HF_SERVED_DENIED, "says that the password or the user is wrong" },
    { "28", HF_SERVED_DENIED, NULL },
    { "XX000", HF_SERVED_DOWN,
      "has an internal error: " }, /* or the schema was replaced */
    { "53100", HF_SERVED_FAILED, "has no space left on its disk" },
    { "53200", HF_SERVED_FAILED, "has no memory left" },
    { "HF001", HF_SERVED_FAILED,
      "has default_transaction_isolation set: ALTER ROLE ... SET it to "
      "'read committed'" },
};

/* ---- Texts ---------------------------------------------------------------------- */

/* The first line of a text, without blanks around it and control characters in it. */
static void copy_line(const char *text, char *ret, size_t size)
{
    size_t used = 0;

    assert(size > 0);
    text += strspn(text, " \t\r\n");
    for (; *text != '\0' && *text != '\n' && *text != '\r' && used + 1 < size; text++)
        ret[used++] = (unsigned char)*text < 0x20 ? ' ' : *text;
    while (used > 0 && ret[used - 1] == ' ')
        used--;
    ret[used] = '\0';
}

/* Cut off libpq's "connection to server at ... failed: ", which we say ourselves. */
static const char *without_address(const char *line)
{
    static const char mark[] = " failed: ";
    const char       *end = line + strcspn(line, "\n");
    const char       *at = strstr(line, mark);

    if (strncmp(line, "connection to server ", 21) == 0 && at != NULL && at < end)
        return at + strlen(mark);
    return line;
}

void hf_pg_fault_line(const char *message, char *ret, size_t size)
{
    copy_line(without_address(message), ret, size);
    if (ret[0] != '\0' && isupper((unsigned char)ret[0]) &&
        islower((unsigned char)ret[1]))
        ret[0] = (char)tolower((unsigned char)ret[0]); /* it follows the server's name */
}

/* ---- Results -------------------------------------------------------------------- */

static const struct meaning *find_meaning(const char *state)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strncmp(state, meanings[i].state, strlen(meanings[i].state)) == 0)
            return &meanings[i];
    return NULL;
}

enum hf_served_fault hf_pg_fault_text(const char *state, const char *message, char *ret,
                                      size_t size)
{
    const struct meaning *meaning = find_meaning(state);
    enum hf_served_fault  fault = meaning != NULL ? meaning->fault : HF_SERVED_FAILED;
    char                  line[160];

    hf_pg_fault_line(message != NULL ? message : "it does not say why", line,
                     sizeof line);
    if (state[0] == '\0') { /* an error of libpq */
        fault = HF_SERVED_DOWN;
        snprintf(ret, size, "hung up: %s", line);
    } else if (meaning != NULL && meaning->text != NULL) {
        assert(meaning->text[0] != '\0');
        bool more = meaning->text[strlen(meaning->text) - 1] == ' ';
        snprintf(ret, size, "%s%s", meaning->text, more ? line : "");
    } else {
        snprintf(ret, size, "%s: %s",
                 fault == HF_SERVED_DENIED ? "does not allow it" : "says", line);
    }
    return fault;
}

enum hf_served_fault hf_pg_fault(struct hf_pg *pg, const PGresult *result)
{
    char text[HF_ERRMSG_MAX];

    if (result == NULL)
        return HF_SERVED_DOWN;
    if (PQresultStatus(result) != PGRES_FATAL_ERROR &&
        PQresultStatus(result) != PGRES_BAD_RESPONSE)
        return HF_SERVED_FINE;

    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (message == NULL)
        message = PQresultErrorMessage(result);
    if (state == NULL)
        state = "";
    enum hf_served_fault fault = hf_pg_fault_text(state, message, text, sizeof text);
    size_t               used = strlen(text);
    if (pg->dial.phase == HF_DIAL_GREETING && strcmp(state, "42501") == 0)
        snprintf(text + used, sizeof text - used,
                 "; an administrator gives a role its rights by the output of `holdfast "
                 "init --print --grant ROLE --url postgres:`");
    hf_dial_say(&pg->dial, text);
    return fault;
}

/* ---- No connection -------------------------------------------------------------- */

/* In "FATAL:  28P01: password authentication failed": the last state, and the rest. */
static bool find_state(const char *message, char state[6], const char **rest)
{
    bool found = false;

    for (const char *at = message; (at = strstr(at, ":  ")) != NULL; at++) {
        const char *code = at + 3;
        if (strspn(code, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 5 ||
            strncmp(code + 5, ": ", 2) != 0)
            continue;
        snprintf(state, 6, "%.5s", code);
        *rest = code + 7;
        found = true;
    }
    return found;
}

/* Words in messages of libpq and of poolers, whose states mean nothing. */
static const struct {
    const char *has;
    int         refusal;
} refusals[] = {
    { "certificate", HF_EDENIED },
    { "private key", HF_EDENIED },
    { "alert", HF_EDENIED }, /* TLS: the server refuses us */
    { "not support SSL", HF_EDENIED },
    { "uthentication", HF_EDENIED },
    { "channel binding", HF_EDENIED },
    { "password", HF_EDENIED },
    { "no such user", HF_EDENIED },
    { "no such database", HF_ENOTFOUND },
    { "definition of service", HF_ENOTFOUND },
    { "service file", HF_ENOTFOUND },
    { " value: \"", HF_EINVAL }, /* invalid sslmode value: "..." */
    { "invalid port number", HF_EINVAL },
};

static int find_refusal(const char *line)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (strstr(line, refusals[i].has) != NULL)
            return refusals[i].refusal;
    return 0;
}

/* An error of libpq itself. */
static int explain_libpq(const char *line, char *ret, size_t size, bool *absent)
{
    if (strstr(line, "expected authentication request") != NULL ||
        strstr(line, "invalid response to SSL negotiation") != NULL) {
        snprintf(ret, size, "does not speak PostgreSQL's protocol");
        return 0;
    }
    int refusal = find_refusal(line);
    *absent = refusal == 0;
    snprintf(ret, size, "cannot be %s: %s", refusal != 0 ? "connected to" : "reached",
             line);
    return refusal;
}

/* Of several attempts, such as with TLS and without, take the last. */
static const char *last_attempt(const char *message)
{
    const char *last = message;

    for (const char *at = message; (at = strstr(at, "\nconnection to server ")) != NULL;)
        last = ++at;
    return last;
}

int hf_pg_fault_connect(const char *message, bool no_password, char *ret, size_t size,
                        bool *absent)
{
    char        state[6] = "", line[160];
    const char *rest = last_attempt(message);

    *absent = false;
    if (no_password) {
        snprintf(ret, size, "wants a password: see docs/postgres.md for where to put it");
        return HF_EDENIED;
    }
    bool found = find_state(rest, state, &rest);
    hf_pg_fault_line(rest, line, sizeof line);
    if (!found)
        return explain_libpq(line, ret, size, absent);
    if (strcmp(state, "3D000") == 0) {
        snprintf(ret, size, "has no such database: %s", line);
        return HF_ENOTFOUND;
    }
    enum hf_served_fault fault = hf_pg_fault_text(state, line, ret, size);
    if (fault == HF_SERVED_DENIED)
        return HF_EDENIED;
    return strncmp(state, "08", 2) == 0 ? find_refusal(line) : 0;
}
