/* watches.c - no watch stays on the server, whichever way a wait or a hold ends, while
 * the session goes on. */
/* needs: standalone --tick 200 --config maxSessionTimeout=30000 */
#include "lib/promise.h"
#include "lib/witness.h"

#include <poll.h>
#include <stdio.h>

#define LIMIT_MS 30000

static struct hf_client *a, *b;

/* The kinds of lock. */
struct kind {
    const char *name;
    int (*mine)(struct hf_client *client, const char *name, struct hf_lock **ret);
    int (*others)(struct hf_client *client, const char *name, struct hf_lock **ret);
};

static int make_half(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    return hf_semaphore(client, name, 2, 1, ret);
}

static int make_whole(struct hf_client *client, const char *name, struct hf_lock **ret)
{
    return hf_semaphore(client, name, 2, 2, ret);
}

static const struct kind kinds[] = {
    { "mutex", hf_mutex, hf_mutex },
    { "reader", hf_reader, hf_writer },
    { "writer", hf_writer, hf_reader },
    { "semaphore", make_half, make_whole },
    { "whole semaphore", make_whole, make_half },
    { "claim", hf_claim, hf_claim },
};

struct scene {
    struct hf_lock *mine, *others;
    char            name[32];
};

static void scene_open(struct scene *scene, const struct kind *kind)
{
    static unsigned count;

    snprintf(scene->name, sizeof scene->name, "watches-%u", count++);
    assert_int_equal(kind->mine(a, scene->name, &scene->mine), 0);
    assert_int_equal(kind->others(b, scene->name, &scene->others), 0);
    assert_int_equal(hf_set_any_thread(scene->mine, true), 0);
}

static void scene_close(struct scene *scene)
{
    hf_lock_free(scene->mine);
    hf_lock_free(scene->others);
    assert_int_equal(witness_await_watches(0), 0);
}

/* Wait until there is a watch that can be removed. */
static void await_some(long count)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    while (witness_watches() < count && hf_now() < end)
        poll(NULL, 0, 1);
    assert_true(witness_watches() >= count);
}

/* The server may have sent the event before we read it. */
static void await_held(const struct hf_lock *lock)
{
    hf_time end = hf_now() + LIMIT_MS * HF_MS;

    while (hf_state(lock) != HF_HELD && hf_now() < end)
        poll(NULL, 0, 1);
    assert_int_equal(hf_state(lock), HF_HELD);
}

/* ---- Ways to end -------------------------------------------------------------------- */

static void held_and_released(struct scene *scene)
{
    assert_int_equal(hf_acquire(scene->mine, LIMIT_MS), 0);
    await_some(1);
    assert_int_equal(hf_release(scene->mine), 0);
}

static void tried(struct scene *scene)
{
    assert_int_equal(hf_acquire(scene->others, LIMIT_MS), 0);
    assert_int_equal(hf_acquire(scene->mine, 0), HF_EBUSY);
    await_some(1);
    assert_int_equal(hf_release(scene->others), 0);
}

static void timed_out(struct scene *scene)
{
    assert_int_equal(hf_acquire(scene->others, LIMIT_MS), 0);
    await_some(1);
    assert_int_equal(hf_acquire(scene->mine, 100), HF_ETIMEOUT);
    assert_int_equal(witness_await_watches(1), 1); /* only that of the holder */
    assert_int_equal(hf_release(scene->others), 0);
}

static void canceled(struct scene *scene)
{
    assert_int_equal(hf_acquire(scene->others, LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(scene->mine, LIMIT_MS), 0);
    await_some(2);
    assert_int_equal(hf_cancel(scene->mine), 0);
    assert_int_equal(witness_await_watches(1), 1);
    assert_int_equal(hf_release(scene->others), 0);
}

static void handed_over(struct scene *scene)
{
    assert_int_equal(hf_acquire(scene->others, LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(scene->mine, LIMIT_MS), 0);
    await_some(2);
    assert_int_equal(hf_release(scene->others), 0);
    assert_int_equal(witness_await_watches(1), 1); /* that of the new holder */
    await_held(scene->mine);
    assert_int_equal(hf_release(scene->mine), 0);
}

static void followed(struct scene *scene)
{
    assert_int_equal(hf_set_follow(scene->mine, true), 0);
    handed_over(scene);
}

/* Somebody breaks the place of the waiter, or of the holder. */
static void broken(struct scene *scene)
{
    struct hf_report *report;

    assert_int_equal(hf_acquire(scene->others, LIMIT_MS), 0);
    assert_int_equal(hf_acquire_start(scene->mine, LIMIT_MS), 0);
    await_some(2);
    assert_int_equal(hf_inspect(b, scene->name, LIMIT_MS, &report), 0);
    assert_int_equal(hf_break(b, scene->name, report->entry[0]->token, LIMIT_MS), 0);
    hf_report_free(report);
    await_held(scene->mine);
    assert_int_equal(hf_release(scene->mine), 0);
    assert_int_equal(hf_release(scene->others), HF_ELOST);
}

static void no_end_leaves_a_watch(void **state)
{
    static const struct {
        const char *name;
        void (*play)(struct scene *scene);
    } ways[] = {
        { "held", held_and_released },  { "tried", tried },
        { "timed out", timed_out },     { "canceled", canceled },
        { "handed over", handed_over }, { "followed", followed },
        { "broken", broken },
    };
    const struct kind *kind = *state;
    struct scene       scene;

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        print_message("# %s: %s\n", kind->name, ways[i].name);
        scene_open(&scene, kind);
        ways[i].play(&scene);
        scene_close(&scene);
    }
}

/* ---- Watching from outside ---------------------------------------------------------- */

static void outside_watches_are_removed(void **state)
{
    struct hf_report *report, *later;
    struct scene      scene;

    (void)state;
    scene_open(&scene, &kinds[0]);
    /* A folder that does not exist, and one that does. */
    for (int times = 0; times < 2; times++) {
        assert_int_equal(hf_inspect(a, scene.name, LIMIT_MS, &report), 0);
        assert_int_equal(hf_watch(a, scene.name, report, 100, &later), HF_ETIMEOUT);
        assert_int_equal(witness_await_watches(0), 0);
        assert_int_equal(hf_acquire(scene.others, LIMIT_MS), 0);
        assert_int_equal(hf_watch(a, scene.name, report, LIMIT_MS, &later), 0);
        hf_report_free(report);
        hf_report_free(later);
        assert_int_equal(hf_release(scene.others), 0);
        assert_int_equal(witness_await_watches(0), 0);
    }
    scene_close(&scene);
}

static void elections_leave_no_watch(void **state)
{
    struct hf_election_options options = HF_ELECTION_INIT;
    struct hf_election        *first, *second;

    (void)state;
    assert_int_equal(hf_election_new(a, "election", &options, &first), 0);
    assert_int_equal(hf_election_new(b, "election", &options, &second), 0);
    await_some(2);
    witness_await("/election", 2);
    hf_election_free(second);
    hf_election_free(first);
    assert_int_equal(witness_await_watches(0), 0);
}

int main(void)
{
    enum { KINDS = sizeof kinds / sizeof *kinds };
    struct CMUnitTest tests[KINDS + 2] = {
        [KINDS] = cmocka_unit_test(outside_watches_are_removed),
        [KINDS + 1] = cmocka_unit_test(elections_leave_no_watch),
    };
    struct hf_options options = HF_OPTIONS_INIT;
    char              url[64];

    for (size_t i = 0; i < KINDS; i++) {
        tests[i] = (struct CMUnitTest)cmocka_unit_test_prestate(no_end_leaves_a_watch,
                                                                (void *)&kinds[i]);
        tests[i].name = kinds[i].name;
    }
    snprintf(url, sizeof url, "zk://%s", witness_server());
    if (hf_open(url, &options, &a) != 0 || hf_open(url, &options, &b) != 0)
        return 1;
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    hf_close(a);
    hf_close(b);
    return status;
}
