/* survey.c - all lines of a store, told as they change. */
#include "lib/recipe.h"
#include "lib/surveyor.h"

#include <stdio.h>
#include <string.h>

/* What is there at first, and then every change: by others, and by itself. */
static void test_lines_are_told_as_they_change(void **state)
{
    const char     *prefix = recipe_name();
    char            one[64], two[64];
    struct surveyor seen;

    (void)state;
    snprintf(one, sizeof one, "%s-one", prefix);
    snprintf(two, sizeof two, "%s-two", prefix);
    struct hf_client *a = recipe_open(), *b = recipe_open(), *eye = recipe_open();
    struct hf_lock   *first = recipe_mutex(a, one), *second = recipe_mutex(b, one);
    struct hf_lock   *other = recipe_mutex(a, two), *own = recipe_mutex(eye, two);
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);

    surveyor_start(&seen, eye, prefix);
    assert_true(
        surveyor_sees(&seen, one, 1, 0)); /* told before the first look was over */
    assert_true(surveyor_sees(&seen, two, 0, 0));

    assert_int_equal(hf_acquire_start(second, -1), 0);
    surveyor_await(&seen, one, 1, 1);
    assert_int_equal(hf_acquire(other, RECIPE_LIMIT_MS), 0);
    surveyor_await(&seen, two, 1, 0);
    assert_int_equal(hf_release(first), 0);
    surveyor_await(&seen, one, 1, 0);
    assert_int_equal(hf_release(other), 0);
    surveyor_await(&seen, two, 0, 0);
    assert_int_equal(hf_acquire(own, RECIPE_LIMIT_MS), 0);
    surveyor_await(&seen, two, 1, 0);
    hf_close(b);
    surveyor_await(&seen, one, 0, 0);

    surveyor_stop(&seen);
    hf_close(eye);
    hf_close(a);
}

/* A quiet line is told once, however long one looks. */
static void test_a_quiet_line_is_told_once(void **state)
{
    const char     *prefix = recipe_name();
    char            quiet[64], busy[64];
    struct surveyor seen;

    (void)state;
    snprintf(quiet, sizeof quiet, "%s-quiet", prefix);
    snprintf(busy, sizeof busy, "%s-busy", prefix);
    struct hf_client *a = recipe_open(), *eye = recipe_open();
    struct hf_lock   *still = recipe_mutex(a, quiet), *moving = recipe_mutex(a, busy);
    assert_int_equal(hf_acquire(still, RECIPE_LIMIT_MS), 0);
    surveyor_start(&seen, eye, prefix);

    for (int i = 0; i < 3; i++) {
        assert_int_equal(hf_acquire(moving, RECIPE_LIMIT_MS), 0);
        surveyor_await(&seen, busy, 1, 0);
        assert_int_equal(hf_release(moving), 0);
        surveyor_await(&seen, busy, 0, 0);
    }
    assert_string_equal(seen.name[0], quiet);
    assert_int_equal(seen.told[0], 1);
    surveyor_stop(&seen);

    /* Another one begins anew. */
    surveyor_start(&seen, eye, prefix);
    assert_true(surveyor_sees(&seen, quiet, 1, 0));
    hf_close(eye); /* with the survey */
    hf_close(a);
}

static void ignore_line(struct hf_survey *survey, const char *name,
                        struct hf_report *line, void *data)
{
    (void)survey;
    (void)name;
    (void)data;
    hf_report_free(line);
}

static void test_a_survey_that_makes_no_sense_is_refused(void **state)
{
    struct hf_survey_options options = HF_SURVEY_INIT;
    struct hf_survey        *survey = NULL, *twin = NULL;
    struct hf_client        *client = recipe_open();

    (void)state;
    assert_int_equal(hf_survey_new(client, NULL, &survey), HF_EINVAL);
    assert_int_equal(hf_survey_new(client, &options, &survey), HF_EINVAL);
    assert_non_null(strstr(hf_errmsg(client), "on_line"));
    options.on_line = ignore_line;
    options.pause_ms = -1;
    assert_int_equal(hf_survey_new(client, &options, &survey), HF_EINVAL);
    options.pause_ms = 0;
    assert_int_equal(hf_survey_new(client, &options, &survey), 0);
    assert_int_equal(hf_survey_new(client, &options, &twin), HF_ESTATE);
    hf_survey_free(survey); /* before it was begun, or after */
    hf_survey_free(NULL);
    assert_int_equal(hf_survey_new(client, &options, &twin), 0);
    hf_survey_free(twin);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_told_as_they_change),
        cmocka_unit_test(test_a_quiet_line_is_told_once),
        cmocka_unit_test(test_a_survey_that_makes_no_sense_is_refused),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
