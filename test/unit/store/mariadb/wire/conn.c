/* conn.c - TLS that is not given up, and answers that are out of order.  The test itself is the
 * server. */
/* one thread */
#include "unit/lib/mariadb_fake.h"

/* ---- TLS ----------------------------------------------------------------------------------- */

static void test_tls_is_not_given_up(void **state)
{
    struct hf_tls_options options = { .ca = NULL };
    struct hf_tls        *tls;
    unsigned char         greeting[204];
    char                  errmsg[HF_ERRMSG_MAX];

    (void)state;
    assert_int_equal(hf_tls_new(&options, errmsg, sizeof errmsg, &tls), 0);
    fake_dial_tcp("s3cret", tls);
    fake_greet(FAKE_MODERN & ~0x800u, "mysql_native_password");
    fake_expect_end(HF_EDENIED, "does not offer TLS");

    fake_dial_tcp("s3cret", tls); /* only a request for TLS, without a name */
    fake_greet(FAKE_MODERN, "mysql_native_password");
    assert_true(fake_hear());
    assert_int_equal(fake_said_size, 32);
    assert_int_equal(fake_said[1] & 8, 8);
    FAKE_SAY(2, "\0\0\0\2\0\0\0"); /* as if TLS were not needed */
    fake_expect_end(0, "");
    assert_int_equal(fake_rig.logins, 0);

    fake_dial_tcp("s3cret", tls); /* somebody puts a packet in before TLS */
    size_t size = fake_write_greeting(greeting + 4, FAKE_MODERN, "mysql_native_password");
    hf_my_put(greeting, size, 4);
    memcpy(greeting + 4 + size, "\7\0\0\2\0\0\0\2\0\0\0", 11);
    fake_say_raw(greeting, 4 + size + 11);
    fake_expect_end(0, "sends bytes ahead of TLS");
    hf_tls_free(tls);
}

/* ---- After the login ------------------------------------------------------------------------ */

static void log_in_at_once(void)
{
    fake_dial_tcp("s3cret", NULL);
    fake_greet(FAKE_MODERN, "mysql_native_password");
    assert_true(fake_hear());
    FAKE_SAY(2, "\0\0\0\2\0\0\0");
    fake_settle(1);
    assert_int_equal(fake_rig.logins, 1);
}

static void test_answers_that_nobody_asked_for(void **state)
{
    (void)state;
    log_in_at_once();
    FAKE_SAY(1, "\0\0\0\2\0\0\0");
    fake_expect_end(0, "sends an answer that nobody asked for");
    for (unsigned char number = 0; number < 3;
         number++) { /* how it counts does not matter */
        log_in_at_once();
        FAKE_SAY(number,
                 "\xff\xbf\x0f#HY000The client was disconnected because of inactivity");
        fake_expect_end(0, "ends the connection: The client was disconnected because of "
                           "inactivity (error 4031)");
    }
}

static void test_answers_that_are_numbered_wrongly(void **state)
{
    struct hf_my_query query = { .text = NULL };
    struct hf_my_call  call = { .sent = 0 };

    (void)state;
    hf_my_query_begin(&query, "SELECT 1");
    for (unsigned char number = 0; number < 4; number++) {
        log_in_at_once();
        mariadb_rig_send(&fake_rig, &call, &query);
        assert_true(fake_hear());
        assert_int_equal(fake_said_number, 0);
        assert_memory_equal(fake_said, "\3SELECT 1", 9);
        FAKE_SAY(number, "\0\0\0\2\0\0\0");
        fake_settle(2);
        assert_int_equal(fake_rig.answers, number == 1);
        assert_int_equal(fake_rig.breaks, number != 1);
        fake_close();
    }
    hf_my_query_finish(&query);
}

static void test_a_bad_answer_breaks_all_calls(void **state)
{
    struct hf_my_query query = { .text = NULL };
    struct hf_my_call  calls[3] = { { .sent = 0 } };

    (void)state;
    hf_my_query_begin(&query, "SELECT 1");
    log_in_at_once();
    for (int i = 0; i < 3; i++)
        mariadb_rig_send(&fake_rig, &calls[i], &query);
    assert_true(fake_hear());
    FAKE_SAY(1, "\0\0\0\2\0\0\0");
    FAKE_SAY(1, "\xfb/etc/passwd");
    fake_settle(5);
    assert_int_equal(fake_rig.answers, 1);
    assert_int_equal(fake_rig.breaks, 2);
    assert_false(calls[0].flying || calls[1].flying || calls[2].flying);
    fake_expect_end(0, "sends an answer that makes no sense");
    hf_my_query_finish(&query);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls_is_not_given_up),
        cmocka_unit_test(test_answers_that_nobody_asked_for),
        cmocka_unit_test(test_answers_that_are_numbered_wrongly),
        cmocka_unit_test(test_a_bad_answer_breaks_all_calls),
    };
    char errmsg[HF_ERRMSG_MAX];

    if (hf_tls_load("mariadb", errmsg, sizeof errmsg) != 0) {
        fprintf(stderr, "%s\n", errmsg);
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
