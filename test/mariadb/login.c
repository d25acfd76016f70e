/* login.c - logging in to a real server: by TCP, Unix socket and TLS, with each plugin that
 * Debian's server has. */
/* needs: standalone --tls want --setting plugin-load-add=auth_ed25519 --setting max-connections=12 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "holdfast.h"
#include "lib/mariadb_rig.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RIGS 14

static struct mariadb_rig rig, others[RIGS];

static void be_refused(int refusal, const char *with)
{
    assert_false(mariadb_rig_settle(&rig));
    if (strstr(rig.store.errmsg, with) == NULL)
        fail_msg("\"%s\" is not in: %s", with, rig.store.errmsg);
    assert_int_equal(rig.store.refusal, refusal);
    mariadb_rig_close(&rig);
}

/* ---- Ways to the server -------------------------------------------------------------- */

static void test_tcp_and_unix_socket(void **state)
{
    char user[64];

    (void)state;
    mariadb_rig_log_in(&rig, "tester", "s3cret", NULL);
    assert_true(strstr(rig.conn.version, "MariaDB") != NULL);
    snprintf(user, sizeof user, "%u|tester@%%\n", rig.conn.thread);
    assert_string_equal(mariadb_rig_ask_text(&rig,
                                             "SELECT CONNECTION_ID(), CURRENT_USER()"),
                        user);
    assert_string_equal(mariadb_rig_ask_text(&rig, "SELECT DATABASE()"), "NULL\n");
    mariadb_rig_close(&rig);

    mariadb_rig_open(&rig, getenv("HF_MARIADB_SOCKET"), NULL, "tester", "s3cret", NULL);
    rig.login.database = "test";
    assert_true(mariadb_rig_settle(&rig));
    assert_string_equal(mariadb_rig_ask_text(&rig, "SELECT DATABASE()"), "test\n");
    assert_string_equal(
        mariadb_rig_ask_text(&rig,
                             "SELECT @@character_set_client, @@character_set_results"),
        "utf8mb4|utf8mb4\n");
    mariadb_rig_close(&rig);
}

static void test_tls(void **state)
{
    struct hf_tls *tls = mariadb_rig_tls("HF_MARIADB_CA", NULL, NULL);
    struct hf_tls *stranger = mariadb_rig_tls("HF_MARIADB_OTHER_CA", NULL, NULL);

    (void)state;
    mariadb_rig_log_in(&rig, "tester", "s3cret", tls);
    assert_true(strlen(mariadb_rig_ask_text(
                    &rig, "SELECT variable_value FROM information_schema.session_status "
                          "WHERE variable_name = 'ssl_cipher'")) > 5);
    mariadb_rig_close(&rig);

    mariadb_rig_dial(&rig, "tester", "s3cret", stranger);
    be_refused(HF_EDENIED, "certificate is not trusted");
    mariadb_rig_open(&rig, "127.0.0.2", getenv("HF_MARIADB_PORT"), "tester", "s3cret",
                     tls);
    assert_false(mariadb_rig_settle(&rig)); /* the server listens on 127.0.0.1 alone */
    mariadb_rig_close(&rig);
    mariadb_rig_open(&rig, getenv("HF_MARIADB_SOCKET"), NULL, "tester", "s3cret", tls);
    be_refused(HF_EDENIED, "certificate is for another host");
    hf_tls_free(tls);
    hf_tls_free(stranger);
}

static void test_users_who_must_use_tls_or_a_certificate(void **state)
{
    struct hf_tls *tls = mariadb_rig_tls("HF_MARIADB_CA", NULL, NULL);
    struct hf_tls *known =
        mariadb_rig_tls("HF_MARIADB_CA", "HF_MARIADB_CERT", "HF_MARIADB_KEY");

    (void)state;
    mariadb_rig_tell("sql CREATE USER secure@'%%' IDENTIFIED BY 'x' REQUIRE SSL; "
                     "CREATE USER certified@'%%' IDENTIFIED BY 'x' REQUIRE X509");
    mariadb_rig_dial(&rig, "secure", "x", NULL);
    be_refused(HF_EDENIED, "Access denied for user 'secure'");
    mariadb_rig_log_in(&rig, "secure", "x", tls);
    mariadb_rig_close(&rig);
    mariadb_rig_dial(&rig, "certified", "x", tls);
    be_refused(HF_EDENIED, "Access denied");
    mariadb_rig_log_in(&rig, "certified", "x", known);
    mariadb_rig_close(&rig);
    hf_tls_free(tls);
    hf_tls_free(known);
}

/* ---- Passwords ------------------------------------------------------------------------ */

static void test_wrong_passwords_users_and_databases(void **state)
{
    (void)state;
    mariadb_rig_dial(&rig, "tester", "wrong", NULL);
    be_refused(HF_EDENIED,
               "does not let us in: Access denied for user 'tester'@'127.0.0.1' "
               "(using password: YES) (error 1045)");
    mariadb_rig_dial(&rig, "tester", NULL, NULL);
    be_refused(HF_EDENIED, "(using password: NO)");
    mariadb_rig_dial(&rig, "nobody", "s3cret", NULL);
    be_refused(HF_EDENIED, "(error 1045)");
    mariadb_rig_dial(&rig, "root", "4dmin", NULL);
    rig.login.database = "nowhere";
    be_refused(HF_ENOTFOUND,
               "has no such database: Unknown database 'nowhere' (error 1049)");
    mariadb_rig_dial(&rig, "tester", "s3cret", NULL);
    rig.login.database = "mysql";
    be_refused(HF_EDENIED, "(error 1044)");
}

static void test_plugins(void **state)
{
    (void)state;
    mariadb_rig_tell(
        "sql CREATE USER bare@'%%'; "
        "CREATE USER quoted@'%%' IDENTIFIED BY 'it''s \"ä\\\\0 %%'; "
        "CREATE USER ed@'%%' IDENTIFIED VIA ed25519 USING PASSWORD('x'); "
        "CREATE USER old@'%%' IDENTIFIED VIA mysql_old_password USING '378b243e220ca493'; "
        "CREATE USER locked@'%%' IDENTIFIED BY 'x' ACCOUNT LOCK");
    mariadb_rig_log_in(&rig, "bare", NULL, NULL);
    mariadb_rig_close(&rig);
    mariadb_rig_log_in(&rig, "bare", "", NULL);
    mariadb_rig_close(&rig);
    mariadb_rig_log_in(&rig, "quoted", "it's \"ä\\0 %", NULL);
    mariadb_rig_close(&rig);
    mariadb_rig_dial(&rig, "ed", "x", NULL);
    be_refused(HF_EDENIED,
               "wants the password by the plugin client_ed25519, which we do not "
               "have: create the user with another one");
    mariadb_rig_dial(&rig, "locked", "x", NULL);
    be_refused(HF_EDENIED, "(error 4151)");
    mariadb_rig_dial(&rig, "old", "x", NULL);
    be_refused(HF_EDENIED, "");
}

/* The server knows who we are, and takes any proof. */
static void test_unix_socket_accounts_need_no_password(void **state)
{
    const char *me = getpwuid(geteuid())->pw_name;

    (void)state;
    mariadb_rig_tell("sql CREATE USER IF NOT EXISTS '%s'@'localhost'; "
                     "ALTER USER '%s'@'localhost' IDENTIFIED VIA unix_socket",
                     me, me);
    for (int i = 0; i < 2; i++) {
        mariadb_rig_open(&rig, getenv("HF_MARIADB_SOCKET"), NULL, me,
                         i == 0 ? NULL : "any", NULL);
        if (!mariadb_rig_settle(&rig))
            fail_msg("%s", rig.store.errmsg);
        mariadb_rig_close(&rig);
    }
}

/* ---- A server that has no room --------------------------------------------------------- */

static void test_too_many_connections(void **state)
{
    int i = 0;

    (void)state;
    for (; i < RIGS; i++) {
        mariadb_rig_dial(&others[i], "tester", "s3cret", NULL);
        if (!mariadb_rig_settle(&others[i]))
            break;
    }
    assert_true(i > 5 && i < RIGS);
    assert_non_null(strstr(others[i].store.errmsg, "Too many connections"));
    assert_int_equal(others[i].store.refusal, 0); /* worth another try */
    for (; i >= 0; i--)
        mariadb_rig_close(&others[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tcp_and_unix_socket),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_users_who_must_use_tls_or_a_certificate),
        cmocka_unit_test(test_wrong_passwords_users_and_databases),
        cmocka_unit_test(test_plugins),
        cmocka_unit_test(test_unix_socket_accounts_need_no_password),
        cmocka_unit_test(test_too_many_connections),
    };

    return mariadb_rig_has_server() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
