/* fault.c - the meaning of errors of a PostgreSQL server and of libpq. */
/* one thread */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/postgres/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct {
    const char          *state, *message;
    enum hf_served_fault fault;
    const char          *says;
} faults[] = {
    { "40001", "could not serialize access", HF_SERVED_AGAIN, "undo" },
    { "40P01", "deadlock detected", HF_SERVED_AGAIN, "deadlock" },
    { "55P03", "canceling statement due to lock timeout", HF_SERVED_AGAIN,
      "lock_timeout" },
    { "57P01", "terminating connection", HF_SERVED_DOWN, "shutting down" },
    { "57P02", "terminating connection", HF_SERVED_DOWN, "crashed" },
    { "57P03", "the database system is starting up", HF_SERVED_DOWN, "starting up" },
    { "57P05", "terminating connection", HF_SERVED_DOWN, "idle_session_timeout" },
    { "57014", "canceling statement", HF_SERVED_DOWN, "statement_timeout" },
    { "53300", "sorry, too many clients already", HF_SERVED_DOWN, "max_connections" },
    { "25006", "cannot execute INSERT in a read-only transaction", HF_SERVED_DOWN,
      "read-only: a standby?" },
    { "08006", "it broke", HF_SERVED_DOWN, "says: it broke" },
    { "08P01", "query_wait_timeout", HF_SERVED_DOWN, "query_wait_timeout" },
    { "3F000", "schema \"holdfast\" does not exist", HF_SERVED_MISSING, "no schema" },
    { "42883", "function holdfast.x() does not exist", HF_SERVED_MISSING,
      "of our version" },
    { "42P01", "relation does not exist", HF_SERVED_MISSING, "of our version" },
    { "42501", "permission denied for schema holdfast", HF_SERVED_DENIED,
      "permission denied for schema" },
    { "28P01", "password authentication failed for user \"x\"", HF_SERVED_DENIED,
      "is wrong" },
    { "28000", "no pg_hba.conf entry for host", HF_SERVED_DENIED, "pg_hba.conf" },
    { "53100", "could not extend file", HF_SERVED_FAILED, "disk" },
    { "53200", "out of memory", HF_SERVED_FAILED, "memory" },
    { "HF001", "holdfast needs transactions", HF_SERVED_FAILED,
      "default_transaction_isolation" },
    { "XX000", "cache lookup failed for function 7", HF_SERVED_DOWN,
      "internal error: cache lookup failed" },
    { "XX001", "invalid page in block 3\nmore", HF_SERVED_FAILED, "says: invalid page" },
    { "22003", NULL, HF_SERVED_FAILED, "does not say" },
    { "", "server closed the connection unexpectedly\n\tThis probably means",
      HF_SERVED_DOWN, "hung up: server closed the connection unexpectedly" },
};

static void test_meaning_and_message_of_each_sqlstate(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        char words[HF_ERRMSG_MAX] = "";
        if (hf_pg_fault_text(faults[i].state, faults[i].message, words, sizeof words) !=
                faults[i].fault ||
            strstr(words, faults[i].says) == NULL || strpbrk(words, "\r\n\t") != NULL)
            fail_msg("%s: %s", faults[i].state, words);
    }
}

static void test_long_messages_are_cut(void **state)
{
    char long_text[2000], words[64];

    (void)state;
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    assert_int_equal(hf_pg_fault_text("22000", long_text, words, sizeof words),
                     HF_SERVED_FAILED);
    assert_int_equal(strlen(words), sizeof words - 1);
}

/* ---- Results ------------------------------------------------------------------- */

static void check_result(struct hf_pg *pg, ExecStatusType status,
                         enum hf_served_fault fault)
{
    PGresult *result = PQmakeEmptyPGresult(NULL, status);

    assert_non_null(result);
    assert_int_equal(hf_pg_fault(pg, result), fault);
    PQclear(result);
}

static void test_faults_that_end_the_link(void **state)
{
    struct hf_pg *pg = calloc(1, sizeof *pg);
    char         *errmsg = pg->served.base.errmsg;

    (void)state;
    pg->config.servers = 1;
    snprintf(pg->config.server[0].host, sizeof pg->config.server[0].host, "here");
    snprintf(pg->config.server[0].port, sizeof pg->config.server[0].port, "1");
    hf_pg_link_init(pg, 1);
    setenv("PGDATABASE", "d", 1);
    snprintf(errmsg, HF_ERRMSG_MAX, "as before");
    check_result(pg, PGRES_TUPLES_OK, HF_SERVED_FINE);
    check_result(pg, PGRES_COMMAND_OK, HF_SERVED_FINE);
    assert_int_equal(hf_pg_fault(pg, NULL), HF_SERVED_DOWN);
    assert_string_equal(errmsg, "as before");
    check_result(pg, PGRES_FATAL_ERROR, HF_SERVED_DOWN);
    assert_int_equal(strncmp(errmsg, "PostgreSQL at here:1/d hung up", 30), 0);
    unsetenv("PGDATABASE");
    free(pg);
}

/* ---- Connections that cannot be made ------------------------------------------- */

#define AT \
    "connection to server at \"certificate.example\" (127.0.0.1), port 5432 failed: "
#define PLACE "\nLOCATION:  auth_failed, auth.c:335\n"

static const struct {
    const char *message;
    int         refusal;
    const char *says;
} attempts[] = {
    { AT "Connection refused\n\tIs the server running on that host?\n", 0,
      "cannot be reached: connection refused" },
    { "connection to server on socket \"/run/.s.PGSQL.5432\" failed: No such file or "
      "directory\n\tIs the server running locally?\n",
      0, "no such file or directory" },
    { "could not translate host name \"h\" to address: Name or service not known\n", 0,
      "could not translate" },
    { AT "server closed the connection unexpectedly\n\tThis probably means\n", 0,
      "closed" },
    { AT "SSL SYSCALL error: EOF detected\n", 0, "EOF" },
    { AT "received invalid response to SSL negotiation: H\n", 0, "protocol" },
    { AT "expected authentication request from server, but received H\n", 0, "protocol" },
    { AT "FATAL:  57P03: the database system is starting up\n", 0, "starting up" },
    { AT "FATAL:  53300: sorry, too many clients already\n", 0, "max_connections" },
    { AT "session is read-only\n", 0, "read-only" },
    /* in any language */
    { AT "FATAL:  28P01: password authentication failed for user \"x\"" PLACE, HF_EDENIED,
      "is wrong" },
    { AT "SCHWERWIEGEND:  28P01: Passwort-Authentifizierung fehlgeschlagen" PLACE,
      HF_EDENIED, "is wrong" },
    { AT "FATAL:  28000: role \"x\" does not exist" PLACE, HF_EDENIED,
      "role \"x\" does not exist" },
    { AT "FATAL:  3D000: database \"x\" does not exist" PLACE, HF_ENOTFOUND,
      "has no such database" },
    /* with TLS and without */
    { AT "FATAL:  28000: no pg_hba.conf entry for host \"::1\", SSL encryption" PLACE AT
         "FATAL:  28000: no pg_hba.conf entry for host \"::1\", no encryption" PLACE,
      HF_EDENIED, "no encryption" },
    { AT "FATAL:  28000: no pg_hba.conf entry" PLACE AT "Connection refused\n", 0,
      "refused" },
    { AT "SSL error: certificate verify failed\n", HF_EDENIED, "certificate verify" },
    { AT "server certificate for \"a\" does not match host name \"b\"\n", HF_EDENIED,
      "host name" },
    { AT "root certificate file \"x\" does not exist\n", HF_EDENIED, "root certificate" },
    { AT "SSL error: tlsv1 alert unknown ca\n", HF_EDENIED, "unknown ca" },
    { AT "server does not support SSL, but SSL was required\n", HF_EDENIED, "SSL" },
    { AT "private key file \"x\" has group or world access\n", HF_EDENIED, "private" },
    /* a pooler */
    { AT "FATAL:  08P01: no such database: x\n", HF_ENOTFOUND, "no such database: x" },
    { AT "FATAL:  08P01: password authentication failed\n", HF_EDENIED, "password" },
    { AT "FATAL:  08P01: pgbouncer cannot connect to server\n", 0, "pgbouncer" },
    /* faults of the URL */
    { "definition of service \"x\" not found\n", HF_ENOTFOUND, "service \"x\"" },
    { "invalid sslmode value: \"x\"\n", HF_EINVAL, "sslmode" },
    { "", 0, "cannot be reached" },
};

static void test_messages_when_connecting_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(attempts); i++) {
        char words[HF_ERRMSG_MAX] = "";
        bool absent;
        if (hf_pg_fault_connect(attempts[i].message, false, words, sizeof words,
                                &absent) != attempts[i].refusal ||
            absent != (strstr(words, "cannot be reached") != NULL) ||
            strstr(words, attempts[i].says) == NULL || strpbrk(words, "\r\n\t") != NULL)
            fail_msg("%s: %s", attempts[i].message, words);
    }
}

static void test_a_missing_password(void **state)
{
    char words[HF_ERRMSG_MAX];
    bool absent;

    (void)state;
    assert_int_equal(hf_pg_fault_connect(AT "fe_sendauth: no password supplied\n", true,
                                         words, sizeof words, &absent),
                     HF_EDENIED);
    assert_false(absent);
    assert_non_null(strstr(words, "wants a password"));
}

static int load_libpq(void **state)
{
    (void)state;
    return hf_load("postgres:", NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meaning_and_message_of_each_sqlstate),
        cmocka_unit_test(test_long_messages_are_cut),
        cmocka_unit_test(test_faults_that_end_the_link),
        cmocka_unit_test(test_messages_when_connecting_fails),
        cmocka_unit_test(test_a_missing_password),
    };

    return cmocka_run_group_tests(tests, load_libpq, NULL);
}
