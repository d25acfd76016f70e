/* sqlite_doctor.c - what hf_doctor() and hf_check() find out about the file store. */
#include "lib/lab.h"
#include "lib/recipe.h"

#include "holdfast.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static struct lab *lab;

static struct hf_client *open_lab(void **state)
{
    struct hf_client *client = NULL;

    lab = *state;
    assert_int_equal(hf_open(lab->url, NULL, &client), 0);
    return client;
}

static void hold(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    assert_int_equal(hf_mutex(client, name, ret), 0);
    assert_int_equal(hf_acquire(*ret, 5000), 0);
}

static struct hf_findings *examine(struct hf_client *client, const char *name)
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

static void test_nobody_was_here_yet(void **state)
{
    struct hf_client   *client = open_lab(state);
    struct hf_findings *findings = examine(client, "a");

    assert_finding(findings, "file", HF_FINE, "not there yet");
    assert_finding(findings, "link", HF_FINE, "up");
    assert_false(lab_has(lab, "")); /* looking makes nothing */
    hf_findings_free(findings);
    hf_close(client);
}

static void test_all_is_well(void **state)
{
    struct hf_client *client = open_lab(state), *other = open_lab(state);
    struct hf_lock   *lock, *next;

    hold(client, "a", &lock);
    assert_int_equal(hf_mutex(other, "a", &next), 0);
    assert_int_equal(hf_acquire_start(next, -1), 0);
    for (int i = 0; i < 1000 && hf_ahead(next) != 1; i++)
        usleep(10000);
    struct hf_findings *findings = examine(client, "a");
    assert_finding(findings, "store", HF_FINE, lab->url);
    assert_finding(findings, "file", HF_FINE, lab->path);
    assert_finding(findings, "permissions", HF_FINE, "0600");
    assert_finding(findings, "file system", HF_FINE, "local");
    assert_finding(findings, "SQLite", HF_FINE, "wal");
    assert_finding(findings, "integrity", HF_FINE, "ok");
    assert_finding(findings, "gate", HF_FINE, "open");
    assert_finding(findings, "lines", HF_FINE, "1, with 2 places, of 2 sessions");
    assert_finding(findings, "leftovers", HF_FINE, "none");
    assert_finding(findings, "line", HF_FINE, "1 hold \"a\", 1 wait");
    hf_findings_free(findings);
    hf_close(other);
    hf_close(client);
}

static void test_readable_by_others(void **state)
{
    struct hf_client *client = open_lab(state);
    struct hf_lock   *lock;

    hold(client, "a", &lock);
    assert_int_equal(chmod(lab->path, 0644), 0);
    struct hf_findings *findings = examine(client, NULL);
    assert_finding(findings, "permissions", HF_WARNING, "0644");
    hf_findings_free(findings);
    hf_close(client);
}

/* It was fine when this client opened it. */
static void test_a_second_name(void **state)
{
    struct hf_client *client = open_lab(state);
    struct hf_lock   *lock;

    hold(client, "a", &lock);
    assert_int_equal(link(lab->path, lab_file(lab, ".other")), 0);
    struct hf_findings *findings = examine(client, NULL);
    assert_finding(findings, "files", HF_FAULT, "more than one name");
    hf_findings_free(findings);
    hf_close(client);
}

static void hold_and_wait(struct child *parent)
{
    struct player player;
    struct ask    ask;

    player_open(&player);
    enter(&player, "left", MUTEX, &ask);
    child_say(parent);
    for (;;)
        pause();
}

static void test_what_the_dead_left(void **state)
{
    struct hf_client *client = open_lab(state);
    struct child      child;

    child_start(&child, hold_and_wait);
    assert_true(child_hear(&child, 20000));
    child_kill(&child);
    struct hf_findings *findings = examine(client, NULL);
    assert_finding(findings, "leftovers", HF_FINE, "places 1, FIFOs 1");
    assert_finding(findings, "lines", HF_FINE, "0, with 0 places, of 0 sessions");
    hf_findings_free(findings);
    hf_close(client);
}

static void shut_the_gate(struct child *parent)
{
    int fd = open(lab_file(lab, "-live"), O_RDWR | O_CLOEXEC);

    must(fd >= 0 && flock(fd, LOCK_EX) == 0);
    child_say(parent);
    for (;;)
        pause();
}

static void test_somebody_stopped_at_the_gate(void **state)
{
    struct hf_client *client = open_lab(state);
    struct hf_lock   *lock;
    struct child      child;

    hold(client, "a", &lock);
    child_start(&child, shut_the_gate);
    assert_true(child_hear(&child, 20000));
    assert_int_equal(kill(child.pid, SIGSTOP), 0);
    struct hf_findings *findings = examine(client, "a");
    assert_finding(findings, "gate", HF_FAULT, "stopped");
    assert_finding(findings, "line", HF_FINE, "1 hold"); /* the rest can be told */
    assert_int_equal(hf_check(lock, 5000), 0);           /* and it is still ours */
    hf_findings_free(findings);
    child_kill(&child);
    hf_close(client);
}

/* Where the tickets are. */
static void damage(void)
{
    char    junk[64];
    int64_t page =
        lab_sql(lab, "SELECT rootpage FROM sqlite_schema WHERE name = 'ticket'");
    int64_t size = lab_sql(lab, "PRAGMA page_size");

    (void)lab_sql(lab, "PRAGMA wal_checkpoint(TRUNCATE)");
    memset(junk, 0xee, sizeof junk);
    int fd = open(lab->path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, junk, sizeof junk, (page - 1) * size), sizeof junk);
    close(fd);
}

static void test_a_damaged_file(void **state)
{
    struct hf_client *client = open_lab(state);
    struct hf_lock   *lock;

    hold(client, "a", &lock);
    assert_int_equal(hf_release(lock), 0);
    hf_close(client);
    damage();
    client = open_lab(state);
    struct hf_findings      *findings = examine(client, "a");
    const struct hf_finding *whole = recipe_finding(findings, "integrity");
    assert_int_equal(whole->level, HF_FAULT);
    assert_true(whole->advice[0] != '\0');
    assert_int_equal(recipe_finding(findings, "lines")->level, HF_FAULT);
    hf_findings_free(findings);
    hf_close(client);
}

/* Refused after it was opened: a finding, not a failure. */
static void test_a_store_that_cannot_be_used(void **state)
{
    struct hf_client *client = open_lab(state);
    struct hf_lock   *lock;

    assert_int_equal(chmod(lab->folder, 0777), 0);
    struct hf_findings *findings = examine(client, NULL);
    assert_finding(findings, "link", HF_FAULT, "chmod");
    hf_findings_free(findings);
    assert_int_equal(hf_verify(client, "a", 1, 5000), HF_EDENIED);
    assert_int_equal(chmod(lab->folder, 0700), 0);
    hold(client, "a", &lock);
    hf_close(client);
}

/* The files are replaced under a holder that nobody drives. */
static void test_check_of_deleted_files(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_client *client = NULL;
    struct hf_lock   *lock;

    lab = *state;
    options.flags = HF_NO_KEEPER;
    assert_int_equal(hf_open(lab->url, &options, &client), 0);
    hold(client, "a", &lock);
    lab_unlink(lab, "-live");
    assert_int_equal(hf_state(lock), HF_HELD);
    assert_int_equal(hf_check(lock, 5000), HF_ELOST);
    assert_int_equal(hf_state(lock), HF_LOST);
    assert_int_equal(hf_release(lock), HF_ELOST);
    hf_close(client);
}

/* The same by the store itself. */
static void test_proof_of_deleted_files(void **state)
{
    struct player a, b;
    struct ask    held;

    lab = *state;
    player_open(&a);
    player_open(&b);
    uint64_t id = enter(&a, "a", MUTEX, &held);
    lab_unlink(lab, "-live");
    struct ask own = { .req = { .op = HF_PROVE, .name = "a", .id = id } };
    int        first = player_run(&a, &own);
    assert_true(first == HF_ELOST || first == HF_EDOWN); /* it lost its session first */
    assert_int_equal(player_run(&a, &own), HF_ELOST);
    struct ask token = { .req = { .op = HF_PROVE, .name = "a" } };
    token.req.token = token_of(&held);
    assert_int_equal(player_run(&b, &token), HF_ELOST);
    player_close(&a);
    player_close(&b);
}

#define lab_test(f) cmocka_unit_test_setup_teardown(f, lab_setup, lab_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        lab_test(test_nobody_was_here_yet),
        lab_test(test_all_is_well),
        lab_test(test_readable_by_others),
        lab_test(test_a_second_name),
        lab_test(test_what_the_dead_left),
        lab_test(test_somebody_stopped_at_the_gate),
        lab_test(test_a_damaged_file),
        lab_test(test_a_store_that_cannot_be_used),
        lab_test(test_check_of_deleted_files),
        lab_test(test_proof_of_deleted_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
