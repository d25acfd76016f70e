/* statements.c - statements to a real server and their answers: many in flight, large ones,
 * errors, and connections and queries that are killed. */
/* needs: standalone --tls want */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"
#include "lib/mariadb_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mariadb_rig rig;

/* ---- Statements ----------------------------------------------------------------------- */

static void test_values_arrive_as_they_are(void **state)
{
    struct hf_my_query query = { .text = NULL };
    unsigned char      all[256];

    (void)state;
    for (int i = 0; i < 256; i++)
        all[i] = (unsigned char)i;
    mariadb_rig_log_in(&rig, "tester", "s3cret", NULL);
    for (int i = 0; i < 3; i++) {
        static const char *const modes[] = { "", "NO_BACKSLASH_ESCAPES,ANSI_QUOTES",
                                             "STRICT_ALL_TABLES" };
        char                     set[100];
        snprintf(set, sizeof set, "SET sql_mode = '%s'", modes[i]);
        mariadb_rig_ask_text(&rig, set);
        assert_int_equal(rig.error, 0);
        hf_my_query_begin(&query, "SELECT MD5(");
        hf_my_query_bytes(&query, all, sizeof all);
        hf_my_query_put(&query, "), CONCAT(");
        hf_my_query_text(&query, "12");
        hf_my_query_text(&query, "");
        hf_my_query_put(&query, "), ");
        hf_my_query_text(&query, NULL);
        hf_my_query_number(&query, INT64_MIN);
        hf_my_query_unsigned(&query, UINT64_MAX);
        assert_string_equal(mariadb_rig_ask(&rig, &query),
                            "e2c865db4162bed963bfaa9ef6ac18f0|12|NULL|"
                            "-9223372036854775808|18446744073709551615\n");
    }
    hf_my_query_finish(&query);
    mariadb_rig_close(&rig);
}

static void test_procedures_errors_and_several_results(void **state)
{
    (void)state;
    mariadb_rig_log_in(&rig, "tester", "s3cret", NULL);
    mariadb_rig_ask_text(
        &rig, "USE test; CREATE PROCEDURE p(n INT) BEGIN SELECT n, NULL; "
              "SELECT 'a', x'62', ''; IF n > 1 THEN SIGNAL SQLSTATE '45007' "
              "SET MYSQL_ERRNO = 7777, MESSAGE_TEXT = 'so there'; END IF; END; "
              "CREATE TABLE t (a INT)");
    assert_int_equal(rig.error, 0);
    assert_string_equal(mariadb_rig_ask_text(&rig, "CALL p(1)"), "1|NULL\na|b|\n");
    assert_int_equal(rig.error, 0);
    assert_int_equal(rig.results, 2);
    assert_string_equal(mariadb_rig_ask_text(&rig, "CALL p(2)"), "2|NULL\na|b|\n");
    assert_int_equal(rig.error, 7777);
    assert_string_equal(rig.state, "45007");
    assert_string_equal(rig.message, "so there");

    assert_string_equal(mariadb_rig_ask_text(&rig, "INSERT INTO t VALUES (1), (2)"), "");
    assert_int_equal(rig.changed, 2);
    assert_int_equal(rig.status & (HF_MY_AUTOCOMMIT | HF_MY_IN_TRANSACTION),
                     HF_MY_AUTOCOMMIT);
    mariadb_rig_ask_text(&rig, "BEGIN; INSERT INTO t VALUES (3)");
    assert_int_equal(rig.status & HF_MY_IN_TRANSACTION, HF_MY_IN_TRANSACTION);
    mariadb_rig_ask_text(&rig, "ROLLBACK");
    mariadb_rig_ask_text(&rig, "SELECT 1 + 'x'");
    assert_int_equal(rig.warnings, 1);
    mariadb_rig_ask_text(&rig, "SELECT 1; SELEC 2; SELECT 3");
    assert_int_equal(rig.error, 1064);
    assert_string_equal(rig.state, "42000");
    assert_string_equal(rig.rows, "1\n");
    mariadb_rig_ask_text(&rig, "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t");
    assert_true(rig.error != 0); /* we did not offer that */
    assert_string_equal(mariadb_rig_ask_text(&rig,
                                             "DROP TABLE t; DROP PROCEDURE p; SELECT 5"),
                        "5\n");
    mariadb_rig_close(&rig);
}

static void await_answers(unsigned count)
{
    hf_time end = hf_now() + 20 * HF_SEC;

    while (rig.answers < count && hf_now() < end)
        mariadb_rig_run(&rig, 10);
    assert_int_equal(rig.answers, count);
}

static void on_nth(struct hf_my_conn *conn, void *data, const struct hf_my_reply *reply)
{
    unsigned nth = *(unsigned *)data;

    (void)conn;
    assert_non_null(reply);
    assert_int_equal(nth, rig.answers); /* in order */
    assert_int_equal(reply->error, nth % 7 == 6 ? 1064 : 0);
    assert_int_equal(hf_my_number(reply, 0, 0), nth % 7 == 6 ? 0 : nth);
    rig.answers++;
}

static void send_many(struct hf_tls *tls)
{
    static struct hf_my_call calls[500];
    static unsigned          numbers[500];
    struct hf_my_query       query = { .text = NULL };

    mariadb_rig_log_in(&rig, "tester", "s3cret", tls);
    for (unsigned i = 0; i < 500; i++) {
        numbers[i] = i;
        hf_my_query_begin(&query, i % 7 == 6 ? "SELEC " : "SELECT ");
        hf_my_query_number(&query, i);
        hf_my_send(&rig.conn, &calls[i], &query, on_nth, &numbers[i]);
    }
    await_answers(500);
    assert_null(rig.conn.first);
    hf_my_query_finish(&query);
    mariadb_rig_close(&rig);
}

static void test_many_calls_in_flight(void **state)
{
    struct hf_tls *tls = mariadb_rig_tls("HF_MARIADB_CA", NULL, NULL);

    (void)state;
    send_many(NULL);
    send_many(tls);
    hf_tls_free(tls);
}

static void test_large_answers(void **state)
{
    struct hf_tls *tls = mariadb_rig_tls("HF_MARIADB_CA", NULL, NULL);

    (void)state;
    for (int i = 0; i < 2; i++) {
        mariadb_rig_log_in(&rig, "tester", "s3cret", i == 0 ? NULL : tls);
        mariadb_rig_ask_text(&rig,
                             "SELECT REPEAT('x', 8000000), seq FROM test.seq_1_to_3");
        assert_int_equal(rig.error, 0);
        assert_int_equal(rig.rows[0], 'x');
        mariadb_rig_ask_text(&rig, "SELECT seq, NULL, 'abc' FROM test.seq_1_to_100000");
        assert_memory_equal(rig.rows, "1|NULL|abc\n2|NULL|abc\n", 22);
        assert_string_equal(mariadb_rig_ask_text(&rig, "SELECT 7"), "7\n");
        mariadb_rig_close(&rig);
    }
    hf_tls_free(tls);
}

/* Packets of 16 MB and more are not for us. */
static void test_an_overlong_row_ends_the_connection(void **state)
{
    (void)state;
    mariadb_rig_tell("sql SET GLOBAL max_allowed_packet = 67108864");
    mariadb_rig_log_in(&rig, "tester", "s3cret", NULL);
    mariadb_rig_ask_text(&rig, "SELECT REPEAT('x', 17000000)");
    assert_int_equal(rig.breaks, 1);
    assert_non_null(strstr(rig.store.errmsg, "sends a packet of more than 16 MB"));
    assert_true(mariadb_rig_settle(&rig)); /* and connects again */
    assert_int_equal(rig.logins, 2);
    mariadb_rig_close(&rig);
}

/* ---- Ends ----------------------------------------------------------------------------- */

static void test_a_killed_connection(void **state)
{
    struct hf_my_call  call = { .sent = 0 };
    struct hf_my_query query = { .text = NULL };
    hf_time            end = hf_now() + 20 * HF_SEC;

    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        mariadb_rig_log_in(&rig, "tester", "s3cret", NULL);
        if (busy) {
            hf_my_query_begin(&query, "SELECT SLEEP(60)");
            mariadb_rig_send(&rig, &call, &query);
            mariadb_rig_run(&rig, 100);
        }
        mariadb_rig_tell("sql KILL CONNECTION %u", rig.conn.thread);
        while (rig.overs == 0 && hf_now() < end)
            mariadb_rig_run(&rig, 10);
        assert_int_equal(rig.overs, 1);
        assert_int_equal(rig.answers + rig.breaks, busy);
        if (rig.answers > 0)
            assert_int_equal(rig.error, 1927); /* "Connection was killed" */
        assert_true(mariadb_rig_settle(&rig));
        mariadb_rig_close(&rig);
    }
    hf_my_query_finish(&query);
}

static void test_a_killed_query(void **state)
{
    struct hf_my_call  call[2] = { { .sent = 0 } };
    struct hf_my_query query = { .text = NULL };

    (void)state;
    mariadb_rig_log_in(&rig, "tester", "s3cret", NULL);
    hf_my_query_begin(&query, "SELECT SLEEP(60)");
    mariadb_rig_send(&rig, &call[0], &query);
    mariadb_rig_run(&rig, 200);
    mariadb_rig_tell("sql KILL QUERY %u", rig.conn.thread);
    await_answers(1);
    assert_int_equal(rig.error, 1317);
    assert_string_equal(rig.state, "70100");
    assert_string_equal(mariadb_rig_ask_text(&rig, "SELECT 8"), "8\n");
    hf_my_query_finish(&query);
    mariadb_rig_close(&rig);
}

/* A stopped server takes no more bytes at some point.  We never wait for it: not while we log
 * in by TLS, and not while we send. */
static void stop_server(struct hf_tls *tls, bool in)
{
    struct hf_my_call  call = { .sent = 0 };
    struct hf_my_query query = { .text = NULL };
    char              *data = calloc(1, 4000000);
    hf_time            longest = 0;

    if (in)
        mariadb_rig_log_in(&rig, "tester", "s3cret", tls);
    else
        mariadb_rig_dial(&rig, "tester", "s3cret", tls);
    mariadb_rig_tell("freeze");
    if (in) {
        hf_my_query_begin(&query, "SELECT LENGTH(");
        hf_my_query_bytes(&query, data, 4000000);
        hf_my_query_put(&query, ")");
        mariadb_rig_send(&rig, &call, &query);
    }
    for (hf_time end = hf_now() + 2 * HF_SEC, start; (start = hf_now()) < end;) {
        mariadb_rig_run(&rig, 10);
        longest = hf_now() - start > longest ? hf_now() - start : longest;
    }
    mariadb_rig_tell("thaw");
    print_message("# at most %.1f ms, 10 of them waiting\n", (double)longest / HF_MS);
    assert_true(longest < HF_SEC);
    if (in)
        await_answers(1);
    assert_true(mariadb_rig_settle(&rig));
    assert_string_equal(rig.rows, in ? "4000000\n" : "");
    hf_my_query_finish(&query);
    free(data);
    mariadb_rig_close(&rig);
}

static void test_a_stopped_server_stops_nobody(void **state)
{
    struct hf_tls *tls = mariadb_rig_tls("HF_MARIADB_CA", NULL, NULL);

    (void)state;
    for (int i = 0; i < 4; i++)
        stop_server(i < 2 ? tls : NULL, i % 2 == 0);
    hf_tls_free(tls);
}

/* Each connection says goodbye, or the server would count it as aborted. */
static void test_no_connection_was_aborted(void **state)
{
    long before = atol(
        strchr(mariadb_rig_tell("sql SHOW GLOBAL STATUS LIKE 'Aborted_clients'"), '|') +
        1);

    (void)state;
    for (int i = 0; i < 5; i++) {
        mariadb_rig_log_in(&rig, "tester", "s3cret", NULL);
        mariadb_rig_close(&rig);
    }
    hf_time end = hf_now() + 10 * HF_SEC;
    while (
        atol(mariadb_rig_tell("sql SELECT COUNT(*) FROM information_schema.processlist "
                              "WHERE user = 'tester'")) > 0)
        assert_true(hf_now() < end);
    assert_int_equal(atol(strchr(mariadb_rig_tell(
                                     "sql SHOW GLOBAL STATUS LIKE 'Aborted_clients'"),
                                 '|') +
                          1),
                     before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_arrive_as_they_are),
        cmocka_unit_test(test_procedures_errors_and_several_results),
        cmocka_unit_test(test_many_calls_in_flight),
        cmocka_unit_test(test_large_answers),
        cmocka_unit_test(test_an_overlong_row_ends_the_connection),
        cmocka_unit_test(test_a_killed_connection),
        cmocka_unit_test(test_a_killed_query),
        cmocka_unit_test(test_a_stopped_server_stops_nobody),
        cmocka_unit_test(test_no_connection_was_aborted),
    };

    return mariadb_rig_has_server() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
