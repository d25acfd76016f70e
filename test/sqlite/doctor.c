/* doctor.c - hf_doctor() and hf_check() on the file store: what they find. */
#include "lib/recipe.h"
#include "lib/temp_store.h"
#include "sqlite/lib/store_files.h"

#include "holdfast.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct temp_store *temp;

static struct hf_client *open_lab(void **state)
{
    struct hf_client *client = NULL;

    temp = *state;
    assert_int_equal(hf_open(temp->url, NULL, &client), 0);
    return client;
}

static void hold(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    assert_int_equal(hf_mutex(client, name, ret), 0);
    assert_int_equal(hf_acquire(*ret, 5000), 0);
}

static struct hf_findings *diagnose(struct hf_client *client, const char *name)
{
    struct hf_findings *findings = NULL;

    assert_int_equal(hf_doctor(client, name, 10000, &findings), 0);
    return findings;
}

static void assert_finding(const struct hf_findings *findings, const char *about,
                           enum hf_level level, const char *part)
{
    const struct hf_finding *finding = recipe_finding(findings, about);

    if (finding->level != level || strstr(finding->text, part) == NULL)
        fail_msg("%s: level %d: %s", about, (int)finding->level, finding->text);
    if (level != HF_FINE && strcmp(about, "link") != 0)
        assert_true(finding->advice[0] != '\0');
}

static void doctor_makes_no_files(void **state)
{
    struct hf_client   *client = open_lab(state);
    struct hf_findings *findings = diagnose(client, "a");

    assert_finding(findings, "file", HF_FINE, "does not exist yet");
    assert_finding(findings, "link", HF_FINE, "up");
    assert_false(temp_has(temp, "")); /* it makes no file */
    hf_findings_free(findings);
    hf_close(client);
}

static void healthy_store_has_no_faults(void **state)
{
    struct hf_client *client = open_lab(state), *other = open_lab(state);
    struct hf_lock   *lock, *next;

    hold(client, "a", &lock);
    assert_int_equal(hf_mutex(other, "a", &next), 0);
    assert_int_equal(hf_acquire_start(next, -1), 0);
    for (int i = 0; i < 1000 && hf_ahead(next) != 1; i++)
        usleep(10000);
    struct hf_findings *findings = diagnose(client, "a");
    assert_finding(findings, "store", HF_FINE, temp->url);
    assert_finding(findings, "file", HF_FINE, temp->path);
    assert_finding(findings, "permissions", HF_FINE, "0600");
    assert_finding(findings, "file system", HF_FINE, "local");
    assert_finding(findings, "SQLite", HF_FINE, "wal");
    assert_finding(findings, "integrity", HF_FINE, "ok");
    assert_finding(findings, "write lock", HF_FINE, "free");
    assert_finding(findings, "lines", HF_FINE, "1, with 2 places, of 2 sessions");
    assert_finding(findings, "leftovers", HF_FINE, "none");
    assert_finding(findings, "line", HF_FINE, "1 hold \"a\", 1 wait");
    hf_findings_free(findings);
    hf_close(other);
    hf_close(client);
}

static void doctor_warns_of_files_that_others_can_read(void **state)
{
    struct hf_client *client = open_lab(state);
    struct hf_lock   *lock;

    hold(client, "a", &lock);
    assert_int_equal(chmod(temp->path, 0644), 0);
    struct hf_findings *findings = diagnose(client, NULL);
    assert_finding(findings, "permissions", HF_WARNING, "0644");
    hf_findings_free(findings);
    hf_close(client);
}

/* The link is made after this client opened the store. */
static void doctor_reports_a_hard_link(void **state)
{
    struct hf_client *client = open_lab(state);
    struct hf_lock   *lock;

    hold(client, "a", &lock);
    assert_int_equal(link(temp->path, temp_file(temp, ".other")), 0);
    struct hf_findings *findings = diagnose(client, NULL);
    assert_finding(findings, "files", HF_FAULT, "more than one name");
    hf_findings_free(findings);
    hf_close(client);
}

static void hold_and_wait(struct child *parent)
{
    struct player  player;
    struct request request;

    player_open(&player);
    enter(&player, "left", MUTEX, &request);
    child_say(parent);
    for (;;)
        pause();
}

static void doctor_counts_leftovers_of_dead_sessions(void **state)
{
    struct hf_client *client = open_lab(state);
    struct child      child;

    child_start(&child, hold_and_wait);
    assert_true(child_hear(&child, 20000));
    child_kill(&child);
    struct hf_findings *findings = diagnose(client, NULL);
    assert_finding(findings, "leftovers", HF_FINE, "places 1, FIFOs 1");
    assert_finding(findings, "lines", HF_FINE, "0, with 0 places, of 0 sessions");
    hf_findings_free(findings);
    hf_close(client);
}

static void keep_the_write_lock(struct child *parent)
{
    take_write_lock(temp);
    child_say(parent);
    for (;;)
        pause();
}

static void doctor_reports_a_stopped_writer(void **state)
{
    struct hf_client *client = open_lab(state);
    struct hf_lock   *lock;
    struct child      child;

    hold(client, "a", &lock);
    child_start(&child, keep_the_write_lock);
    assert_true(child_hear(&child, 20000));
    assert_int_equal(kill(child.pid, SIGSTOP), 0);
    struct hf_findings *findings = diagnose(client, "a");
    assert_finding(findings, "write lock", HF_FAULT, "stopped");
    assert_finding(findings, "line", HF_FINE, "1 hold"); /* other findings are reported */
    assert_int_equal(hf_check(lock, 5000), 0);           /* and it is still ours */
    hf_findings_free(findings);
    child_kill(&child);
    hf_close(client);
}

/* Overwrite the pages with the places. */
static void damage(void)
{
    char    junk[64];
    int64_t page =
        temp_sql(temp, "SELECT rootpage FROM sqlite_schema WHERE name = 'place'");
    int64_t size = temp_sql(temp, "PRAGMA page_size");

    (void)temp_sql(temp, "PRAGMA wal_checkpoint(TRUNCATE)");
    memset(junk, 0xee, sizeof junk);
    int fd = open(temp->path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, junk, sizeof junk, (page - 1) * size), sizeof junk);
    close(fd);
}

static void doctor_reports_a_damaged_file(void **state)
{
    struct hf_client *client = open_lab(state);
    struct hf_lock   *lock;

    hold(client, "a", &lock);
    assert_int_equal(hf_release(lock), 0);
    hf_close(client);
    damage();
    client = open_lab(state);
    struct hf_findings      *findings = diagnose(client, "a");
    const struct hf_finding *whole = recipe_finding(findings, "integrity");
    assert_int_equal(whole->level, HF_FAULT);
    assert_true(whole->advice[0] != '\0');
    assert_int_equal(recipe_finding(findings, "lines")->level, HF_FAULT);
    hf_findings_free(findings);
    hf_close(client);
}

/* The store is refused after it was opened: that is a finding, not a failure. */
static void refused_store_is_a_finding(void **state)
{
    struct hf_client *client = open_lab(state);
    struct hf_lock   *lock;

    assert_int_equal(chmod(temp->folder, 0777), 0);
    struct hf_findings *findings = diagnose(client, NULL);
    assert_finding(findings, "link", HF_FAULT, "chmod");
    hf_findings_free(findings);
    assert_int_equal(hf_verify(client, "a", 1, 5000), HF_EDENIED);
    assert_int_equal(chmod(temp->folder, 0700), 0);
    hold(client, "a", &lock);
    hf_close(client);
}

/* The files are replaced while no thread drives the holder's client. */
static void check_notices_deleted_files(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;
    struct hf_lock   *lock;

    temp = *state;
    options.flags = HF_NO_KEEPER;
    assert_int_equal(hf_open(temp->url, &options, &client), 0);
    hold(client, "a", &lock);
    temp_unlink(temp, "-live");
    assert_int_equal(hf_state(lock), HF_HELD);
    assert_int_equal(hf_check(lock, 5000), HF_ELOST);
    assert_int_equal(hf_state(lock), HF_LOST);
    assert_int_equal(hf_release(lock), HF_ELOST);
    hf_close(client);
}

/* The same, by a VERIFY to the store. */
static void verify_notices_deleted_files(void **state)
{
    struct player  a, b;
    struct request held;

    temp = *state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "a", MUTEX, &held);
    temp_unlink(temp, "-live");
    struct request own = { .req = { .op = HF_VERIFY, .name = "a", .id = id } };
    int            first = player_run(&a, &own);
    assert_true(first == HF_ELOST || first == HF_EDOWN); /* it lost its session first */
    assert_int_equal(player_run(&a, &own), HF_ELOST);
    struct request token = { .req = { .op = HF_VERIFY, .name = "a" } };
    token.req.token = token_of(&held);
    assert_int_equal(player_run(&b, &token), HF_ELOST);
    player_close(&a);
    player_close(&b);
}

#define temp_test(f) cmocka_unit_test_setup_teardown(f, temp_setup, temp_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        temp_test(doctor_makes_no_files),
        temp_test(healthy_store_has_no_faults),
        temp_test(doctor_warns_of_files_that_others_can_read),
        temp_test(doctor_reports_a_hard_link),
        temp_test(doctor_counts_leftovers_of_dead_sessions),
        temp_test(doctor_reports_a_stopped_writer),
        temp_test(doctor_reports_a_damaged_file),
        temp_test(refused_store_is_a_finding),
        temp_test(check_notices_deleted_files),
        temp_test(verify_notices_deleted_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
