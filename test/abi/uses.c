/* uses.c - a program that uses every struct of the header; grown.sh runs it with libraries
 * that are older or newer than itself.
 *
 * GROWN: it was built with a header in which every struct has a member `grown` at its end,
 * which the library is too old to know.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <holdfast.h>

#define LIMIT_MS 10000
#define URL      "memory:abi?lease=60000"

static struct hf_client *open_client(void)
{
    struct hf_client *client = NULL;

    assert_int_equal(hf_open(URL, NULL, &client), 0);
    return client;
}

static struct hf_lock *new_mutex(struct hf_client *client, const char *note)
{
    struct hf_lock *lock = NULL;

    assert_int_equal(hf_mutex(client, "abi", &lock), 0);
    assert_int_equal(hf_set_note(lock, note), 0);
    return lock;
}

/* The library fills exactly the memory that the program has for them. */
static void test_statistics_have_the_size_of_the_program(void **state)
{
    struct {
        struct hf_stats stats;
        unsigned char   behind[64];
    } memory;
    struct hf_client *client = open_client();
    struct hf_lock   *lock = new_mutex(client, "one");

    (void)state;
    assert_int_equal(hf_acquire(lock, LIMIT_MS), 0);
    assert_int_equal(hf_release(lock), 0);
    memset(&memory, 0xA5, sizeof memory);
    hf_get_stats(lock, &memory.stats, sizeof memory.stats);
    assert_int_equal(memory.stats.acquired, 1);
    assert_int_equal(memory.stats.busy, 0);
    assert_int_equal(memory.stats.wait.count, 1);
    assert_int_equal(memory.stats.hold.count, 1);
#ifdef GROWN
    assert_int_equal(memory.stats.grown[0], 0);
#endif
    for (size_t i = 0; i < sizeof memory.behind; i++)
        assert_int_equal(memory.behind[i], 0xA5);
    hf_close(client);
}

static void test_every_entry_is_found(void **state)
{
    struct hf_client *client = open_client();
    struct hf_lock *first = new_mutex(client, "one"), *second = new_mutex(client, "two");
    struct hf_report *one = NULL, *both = NULL;

    (void)state;
    assert_int_equal(hf_acquire(first, LIMIT_MS), 0);
    assert_int_equal(hf_inspect(client, "abi", LIMIT_MS, &one), 0);
    assert_int_equal(hf_acquire_start(second, LIMIT_MS), 0);
    assert_int_equal(hf_watch(client, "abi", one, LIMIT_MS, &both), 0);
    assert_int_equal(both->count, 2);
    for (size_t i = 0; i < both->count; i++) {
        assert_string_equal(both->entry[i]->name, "abi");
        assert_string_equal(both->entry[i]->kind, "mutex");
        assert_string_equal(both->entry[i]->note, i == 0 ? "one" : "two");
    }
    assert_int_equal(both->entry[0]->token, hf_token(first));
    hf_report_free(one);
    hf_report_free(both);
    hf_close(client);
}

static void test_every_finding_is_found(void **state)
{
    struct hf_client   *client = open_client();
    struct hf_findings *findings = NULL;

    (void)state;
    assert_int_equal(hf_doctor(client, NULL, LIMIT_MS, &findings), 0);
    assert_true(findings->count > 2);
    for (size_t i = 0; i < findings->count; i++) {
        assert_int_equal(findings->finding[i]->level, HF_FINE);
        assert_true(strlen(findings->finding[i]->about) > 0);
        assert_true(strlen(findings->finding[i]->text) > 0);
        assert_string_equal(findings->finding[i]->advice, "");
    }
    assert_string_equal(findings->finding[0]->about, "holdfast");
    hf_findings_free(findings);
    hf_close(client);
}

static void tell_link(struct hf_client *client, enum hf_link link, const char *why,
                      void *data)
{
    (void)client;
    (void)why;
    *(atomic_bool *)data = link == HF_LINK_UP;
}

static void test_options_of_the_program_are_read(void **state)
{
    struct hf_options          options = HF_OPTIONS_INIT;
    struct hf_election_options take_part = HF_ELECTION_INIT;
    struct hf_client          *client = NULL;
    struct hf_election        *election = NULL;
    struct hf_report          *empty = NULL, *report = NULL;
    atomic_bool                up = false;
    char                       error[256] = "";

    (void)state;
    options.on_link = tell_link;
    options.data = &up;
    options.error = error;
    options.error_size = sizeof error;
    assert_int_equal(hf_open("gopher://x", &options, &client), HF_EUNSUPPORTED);
    assert_non_null(strstr(error, "gopher"));
    assert_int_equal(hf_open(URL, &options, &client), 0);

    take_part.note = "candidate";
    assert_int_equal(hf_inspect(client, "abi", LIMIT_MS, &empty), 0);
    assert_int_equal(hf_election_new(client, "abi", &take_part, &election), 0);
    assert_int_equal(hf_watch(client, "abi", empty, LIMIT_MS, &report), 0);
    assert_int_equal(report->count, 1);
    assert_string_equal(report->entry[0]->note, "candidate");
    hf_report_free(empty);
    hf_report_free(report);
    hf_election_free(election);
    for (int i = 0; i < LIMIT_MS && !up; i++)
        poll(NULL, 0, 1);
    assert_true(up);
    hf_close(client);
}

#ifdef GROWN
/* An option that the library does not know is refused, not ignored. */
static void test_unknown_options_are_refused(void **state)
{
    struct hf_options          options = HF_OPTIONS_INIT;
    struct hf_election_options take_part = HF_ELECTION_INIT;
    struct hf_client          *client = NULL;
    struct hf_election        *election = NULL;
    char                       error[256] = "";

    (void)state;
    options.error = error;
    options.error_size = sizeof error;
    options.grown[3] = 1;
    assert_int_equal(hf_open(URL, &options, &client), HF_EINVAL);
    assert_non_null(strstr(error, "does not know"));
    options.grown[3] = 0;
    assert_int_equal(hf_open(URL, &options, &client), 0);
    take_part.grown[0] = 1;
    assert_int_equal(hf_election_new(client, "abi", &take_part, &election), HF_EINVAL);
    assert_non_null(strstr(hf_errmsg(client), "does not know"));
    hf_close(client);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statistics_have_the_size_of_the_program),
        cmocka_unit_test(test_every_entry_is_found),
        cmocka_unit_test(test_every_finding_is_found),
        cmocka_unit_test(test_options_of_the_program_are_read),
#ifdef GROWN
        cmocka_unit_test(test_unknown_options_are_refused),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
