/* fault.c - what the errors of a server, and of libpq, mean, and what a person is told.
 *
 * Errors are told apart by SQLSTATE, since the texts are in whatever language the server
 * speaks.  If no connection could be made, libpq tells the state only as part of its
 * message.  What libpq itself fails at has no state, and is told by its English text.
 * What is not recognised is tried again.
 */
#include "store/postgres/inner.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct meaning {
    const char          *state; /* how it begins */
    enum hf_served_fault fault;
    const char *clause; /* about the server; NULL, or behind ": ": its own words are
                               added */
};

static const struct meaning meanings[] = {
    { "40001", HF_SERVED_AGAIN, "had to undo it: another transaction was in the way" },
    { "40P01", HF_SERVED_AGAIN, "had to undo it: a deadlock" },
    { "55P03", HF_SERVED_AGAIN,
      "had to undo it: a lock was not to be had (lock_timeout)" },
    { "57P01", HF_SERVED_DOWN, "is shutting down, or was told to end our connection" },
    { "57P02", HF_SERVED_DOWN, "is starting anew: one of its processes crashed" },
    { "57P03", HF_SERVED_DOWN, "is starting up or shutting down" },
    { "57P04", HF_SERVED_DOWN, "has dropped the database" },
    { "57P05", HF_SERVED_DOWN,
      "ended our connection, for it was idle (idle_session_timeout)" },
    { "57014", HF_SERVED_DOWN, "stopped our query (statement_timeout?)" },
    { "53300", HF_SERVED_DOWN, "has no room for another connection (max_connections)" },
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
      "has a schema \"holdfast\" that is not of our version, nor ours to "
      "change: " },
    { "HF004", HF_SERVED_OTHER,
      "has a schema \"holdfast\" of another version than ours: " },
    { "22P05", HF_SERVED_FAILED,
      "cannot write that name, for its database is not in UTF-8: " },
    { "28P01", HF_SERVED_DENIED, "says that the password, or the user, is wrong" },
    { "28", HF_SERVED_DENIED, NULL },
    { "XX000", HF_SERVED_DOWN,
      "failed within itself: " }, /* or the schema was replaced */
    { "53100", HF_SERVED_FAILED, "has no room left on its disk" },
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

/* libpq puts "connection to server at ... failed: " in front.  We say that ourselves. */
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
        ret[0] = (char)tolower((unsigned char)ret[0]); /* it goes into a sentence */
}

/* ---- Results -------------------------------------------------------------------- */

static const struct meaning *find_meaning(const char *state)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strncmp(state, meanings[i].state, strlen(meanings[i].state)) == 0)
            return &meanings[i];
    return NULL;
}

enum hf_served_fault hf_pg_fault_clause(const char *state, const char *message, char *ret,
                                        size_t size)
{
    const struct meaning *meaning = find_meaning(state);
    enum hf_served_fault  fault = meaning != NULL ? meaning->fault : HF_SERVED_FAILED;
    char                  line[160];

    hf_pg_fault_line(message != NULL ? message : "it does not say why", line,
                     sizeof line);
    if (state[0] == '\0') { /* libpq's own */
        fault = HF_SERVED_DOWN;
        snprintf(ret, size, "hung up: %s", line);
    } else if (meaning != NULL && meaning->clause != NULL) {
        assert(meaning->clause[0] != '\0');
        bool more = meaning->clause[strlen(meaning->clause) - 1] == ' ';
        snprintf(ret, size, "%s%s", meaning->clause, more ? line : "");
    } else {
        snprintf(ret, size, "%s: %s",
                 fault == HF_SERVED_DENIED ? "does not allow it" : "says", line);
    }
    return fault;
}

enum hf_served_fault hf_pg_fault(struct hf_pg *pg, const PGresult *result)
{
    char clause[HF_ERRMSG_MAX];

    if (result == NULL)
        return HF_SERVED_DOWN;
    if (PQresultStatus(result) != PGRES_FATAL_ERROR &&
        PQresultStatus(result) != PGRES_BAD_RESPONSE)
        return HF_SERVED_FINE;

    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    if (message == NULL)
        message = PQresultErrorMessage(result);
    enum hf_served_fault fault =
        hf_pg_fault_clause(state != NULL ? state : "", message, clause, sizeof clause);
    hf_dial_say(&pg->dial, clause);
    return fault;
}

/* ---- No connection -------------------------------------------------------------- */

/* "FATAL:  28P01: password authentication failed": the last state, and what follows. */
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

/* In texts of libpq, and of a pooler, whose states mean nothing. */
static const struct {
    const char *has;
    int         refusal;
} signs[] = {
    { "certificate", HF_EDENIED },
    { "private key", HF_EDENIED },
    { "alert", HF_EDENIED }, /* TLS: the server does not want us */
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

static int find_sign(const char *line)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(line, signs[i].has) != NULL)
            return signs[i].refusal;
    return 0;
}

/* What libpq itself fails at. */
static int explain_libpq(const char *line, char *ret, size_t size, bool *absent)
{
    if (strstr(line, "expected authentication request") != NULL ||
        strstr(line, "invalid response to SSL negotiation") != NULL) {
        snprintf(ret, size, "does not speak PostgreSQL's protocol");
        return 0;
    }
    int refusal = find_sign(line);
    *absent = refusal == 0;
    snprintf(ret, size, "cannot be %s: %s", refusal != 0 ? "connected to" : "reached",
             line);
    return refusal;
}

/* Of several attempts, as with TLS and without, the last counts. */
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
    bool told = find_state(rest, state, &rest);
    hf_pg_fault_line(rest, line, sizeof line);
    if (!told)
        return explain_libpq(line, ret, size, absent);
    if (strcmp(state, "3D000") == 0) {
        snprintf(ret, size, "has no such database: %s", line);
        return HF_ENOTFOUND;
    }
    enum hf_served_fault fault = hf_pg_fault_clause(state, line, ret, size);
    if (fault == HF_SERVED_DENIED)
        return HF_EDENIED;
    return strncmp(state, "08", 2) == 0 ? find_sign(line) : 0;
}
