/* null_arguments.c - calls with NULL arguments, and calls in a forked child, are refused
 * and do not crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "holdfast.h"

static struct hf_client *client;
static struct hf_lock   *lock;

static int set_up(void **state)
{
    (void)state;
    if (hf_open("memory:null", NULL, &client) < 0)
        return -1;
    return hf_mutex(client, "lock", &lock);
}

static int tear_down(void **state)
{
    (void)state;
    hf_close(client);
    return 0;
}

static void test_calls_without_a_client(void **state)
{
    struct hf_lock           *made = NULL;
    struct hf_report         *report = NULL;
    struct hf_history_report *records = NULL;

    (void)state;
    hf_close(NULL);
    assert_string_equal(hf_errmsg(NULL), "no client was given");
    assert_string_equal(hf_where(NULL), "");
    assert_int_equal(hf_mutex(NULL, "m", &made), HF_EINVAL);
    assert_int_equal(hf_reader(NULL, "m", &made), HF_EINVAL);
    assert_int_equal(hf_writer(NULL, "m", &made), HF_EINVAL);
    assert_int_equal(hf_claim(NULL, "m", &made), HF_EINVAL);
    assert_int_equal(hf_semaphore(NULL, "m", 2, 1, &made), HF_EINVAL);
    assert_int_equal(hf_semaphore(NULL, "m", 0, 1, &made), HF_EINVAL);
    assert_null(made);
    assert_int_equal(hf_inspect(NULL, "m", 0, &report), HF_EINVAL);
    assert_int_equal(hf_watch(NULL, "m", NULL, 0, &report), HF_EINVAL);
    assert_int_equal(hf_break(NULL, "m", 1, 0), HF_EINVAL);
    assert_int_equal(hf_ask(NULL, "m", "why", 0), HF_EINVAL);
    assert_int_equal(hf_verify(NULL, "m", 1, 0), HF_EINVAL);
    assert_int_equal(hf_history(NULL, "m", 0, 0, &records), HF_EINVAL);
    assert_int_equal(hf_fd(NULL), HF_EINVAL);
    assert_int_equal(hf_timeout_ms(NULL), -1);
    assert_int_equal(hf_process(NULL), HF_EINVAL);
    assert_int_equal(hf_session_key(NULL, NULL, 0), HF_EINVAL);
    assert_int_equal(hf_lifeline(NULL, NULL, 0), HF_EINVAL);
}

static void test_calls_without_a_lock(void **state)
{
    struct hf_lock *none[2] = { NULL, NULL };
    struct hf_lock *mixed[2] = { lock, NULL };
    struct hf_lock *made = NULL;
    struct hf_stats stats = { .acquired = 7 };

    (void)state;
    hf_lock_free(NULL);
    assert_int_equal(hf_acquire(NULL, 0), HF_EINVAL);
    assert_int_equal(hf_release(NULL), HF_EINVAL);
    assert_int_equal(hf_acquire_start(NULL, 0), HF_EINVAL);
    assert_int_equal(hf_release_start(NULL), HF_EINVAL);
    assert_int_equal(hf_cancel(NULL), HF_EINVAL);
    assert_int_equal(hf_check(NULL, 0), HF_EINVAL);
    assert_int_equal(hf_downgrade(NULL), HF_EINVAL);
    assert_int_equal(hf_set_note(NULL, "x"), HF_EINVAL);
    assert_int_equal(hf_set_any_thread(NULL, true), HF_EINVAL);
    assert_int_equal(hf_lost_fd(NULL), HF_EINVAL);
    assert_int_equal(hf_ask_fd(NULL), HF_EINVAL);
    assert_int_equal(hf_all_of(NULL, 2, &made), HF_EINVAL);
    assert_int_equal(hf_all_of(none, 2, &made), HF_EINVAL);
    assert_int_equal(hf_all_of(mixed, 2, &made), HF_EINVAL);
    assert_null(made);
    assert_string_equal(hf_name(NULL), "");
    assert_int_equal(hf_state(NULL), HF_IDLE);
    assert_int_equal(hf_why(NULL), HF_EINVAL);
    assert_int_equal(hf_token(NULL), 0);
    assert_int_equal(hf_slot(NULL), -1);
    assert_int_equal(hf_ahead(NULL), -1);
    assert_int_equal(hf_left_ms(NULL), 0);
    assert_false(hf_asked(NULL, NULL, 0));
    hf_get_stats(NULL, &stats, sizeof stats);
    assert_int_equal(stats.acquired, 0);
    hf_get_stats(lock, NULL, sizeof stats);
}

static void test_calls_without_an_election(void **state)
{
    struct hf_election *made = NULL;
    struct hf_report   *report = NULL;

    (void)state;
    hf_election_free(NULL);
    assert_int_equal(hf_election_new(NULL, "e", NULL, &made), HF_EINVAL);
    assert_null(made);
    assert_false(hf_election_leads(NULL));
    assert_null(hf_election_lock(NULL));
    assert_int_equal(hf_election_resign(NULL), HF_EINVAL);
    assert_int_equal(hf_election_join(NULL), HF_EINVAL);
    assert_int_equal(hf_election_list(NULL, 0, &report), HF_EINVAL);
}

static void test_calls_without_room_for_the_result(void **state)
{
    struct hf_lock *one[1] = { lock };

    (void)state;
    assert_int_equal(hf_open("memory:null", NULL, NULL), HF_EINVAL);
    assert_int_equal(hf_mutex(client, "m", NULL), HF_EINVAL);
    assert_int_equal(hf_all_of(one, 1, NULL), HF_EINVAL);
    assert_int_equal(hf_inspect(client, NULL, 0, NULL), HF_EINVAL);
    assert_int_equal(hf_watch(client, "m", NULL, 0, NULL), HF_EINVAL);
    assert_int_equal(hf_doctor(client, NULL, 0, NULL), HF_EINVAL);
    assert_int_equal(hf_history(client, NULL, 0, 0, NULL), HF_EINVAL);
    assert_int_equal(hf_election_new(client, "e", NULL, NULL), HF_EINVAL);
    assert_int_equal(hf_store_watch_new(client, NULL, NULL), HF_EINVAL);
    assert_int_equal(hf_schema("postgres", NULL, NULL), HF_EINVAL);
}

static void test_hf_asked_without_room_for_the_reason(void **state)
{
    (void)state;
    assert_int_equal(hf_acquire(lock, 0), 0);
    assert_false(hf_asked(lock, NULL, 5));
    assert_int_equal(hf_ask(client, "lock", "soon", 0), 1);
    int fd = hf_ask_fd(lock);
    assert_true(fd >= 0);
    for (int i = 0; !hf_asked(lock, NULL, 5) && i < 2000; i++)
        usleep(10000);
    assert_true(hf_asked(lock, NULL, 5));
    assert_int_equal(hf_release(lock), 0);
}

/* The child does not hold the lock of its parent, by any call. */
static void test_calls_in_a_forked_child(void **state)
{
    int status;

    (void)state;
    assert_int_equal(hf_acquire(lock, 0), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(hf_state(lock) != HF_LOST || hf_why(lock) != HF_EFORK ||
              hf_token(lock) != 0 || hf_slot(lock) != -1 || hf_left_ms(lock) != 0 ||
              hf_release(lock) != HF_EFORK);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(hf_state(lock), HF_HELD);
    assert_int_equal(hf_release(lock), 0);
    child = fork();
    if (child == 0)
        _exit(hf_state(lock) != HF_IDLE);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_without_a_client),
        cmocka_unit_test(test_calls_without_a_lock),
        cmocka_unit_test(test_calls_without_an_election),
        cmocka_unit_test(test_calls_without_room_for_the_result),
        cmocka_unit_test(test_hf_asked_without_room_for_the_reason),
        cmocka_unit_test(test_calls_in_a_forked_child),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
