/* survey.c - all lines of a store, told as they change. */
#include "lib/recipe.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINES_MAX 8

/* What a survey told last of lines whose names begin with `prefix`. */
struct seen {
    pthread_mutex_t mutex;
    const char     *prefix;
    char            name[LINES_MAX][64];
    size_t          held[LINES_MAX], waiting[LINES_MAX];
    unsigned        told[LINES_MAX];
    size_t          count;
    unsigned        looks;
};

static void on_line(struct hf_survey *survey, const char *name, struct hf_report *line,
                    void *data)
{
    struct seen *seen = data;
    size_t       i = 0;

    (void)survey;
    if (strncmp(name, seen->prefix, strlen(seen->prefix)) == 0) {
        pthread_mutex_lock(&seen->mutex);
        while (i < seen->count && strcmp(seen->name[i], name) != 0)
            i++;
        assert_true(i < LINES_MAX);
        if (i == seen->count)
            snprintf(seen->name[seen->count++], sizeof seen->name[i], "%s", name);
        seen->held[i] = seen->waiting[i] = 0;
        for (size_t k = 0; k < line->count; k++) {
            assert_string_equal(line->entry[k]->name, name);
            *(line->entry[k]->held ? &seen->held[i] : &seen->waiting[i]) += 1;
        }
        seen->told[i]++;
        pthread_mutex_unlock(&seen->mutex);
    }
    hf_report_free(line);
}

static void on_look(struct hf_survey *survey, void *data)
{
    struct seen *seen = data;

    (void)survey;
    pthread_mutex_lock(&seen->mutex);
    seen->looks++;
    pthread_mutex_unlock(&seen->mutex);
}

/* Is that what was told last?  A line that was never told has nobody. */
static bool looks(struct seen *seen, const char *name, size_t held, size_t waiting)
{
    bool   right = held == 0 && waiting == 0;
    size_t i = 0;

    pthread_mutex_lock(&seen->mutex);
    while (i < seen->count && strcmp(seen->name[i], name) != 0)
        i++;
    if (i < seen->count)
        right = seen->held[i] == held && seen->waiting[i] == waiting;
    pthread_mutex_unlock(&seen->mutex);
    return right;
}

static void await_look(struct seen *seen, const char *name, size_t held, size_t waiting)
{
    for (int i = 0; i < 1000 && !looks(seen, name, held, waiting); i++)
        usleep(10000);
    if (!looks(seen, name, held, waiting))
        fail_msg("%s was not told to have %zu holders, %zu waiters", name, held, waiting);
}

static struct hf_survey *start_survey(struct hf_client *client, struct seen *seen,
                                      const char *prefix)
{
    struct hf_survey_options options = HF_SURVEY_INIT;
    struct hf_survey        *survey;

    *seen = (struct seen){ .mutex = PTHREAD_MUTEX_INITIALIZER, .prefix = prefix };
    options.on_line = on_line;
    options.on_look = on_look;
    options.data = seen;
    options.pause_ms = 20;
    assert_int_equal(hf_survey_new(client, &options, &survey), 0);
    for (int i = 0; i < 1000 && seen->looks == 0; i++)
        usleep(10000);
    assert_true(seen->looks > 0);
    return survey;
}

/* What is there at first, and then every change: by others, and by itself. */
static void test_lines_are_told_as_they_change(void **state)
{
    const char *prefix = recipe_name();
    char        one[64], two[64];
    struct seen seen;

    (void)state;
    snprintf(one, sizeof one, "%s-one", prefix);
    snprintf(two, sizeof two, "%s-two", prefix);
    struct hf_client *a = recipe_open(), *b = recipe_open(), *eye = recipe_open();
    struct hf_lock   *first = recipe_mutex(a, one), *second = recipe_mutex(b, one);
    struct hf_lock   *other = recipe_mutex(a, two), *own = recipe_mutex(eye, two);
    assert_int_equal(hf_acquire(first, RECIPE_LIMIT_MS), 0);

    struct hf_survey *survey = start_survey(eye, &seen, prefix);
    assert_true(looks(&seen, one, 1, 0)); /* told before the first look was over */
    assert_true(looks(&seen, two, 0, 0));

    assert_int_equal(hf_acquire_start(second, -1), 0);
    await_look(&seen, one, 1, 1);
    assert_int_equal(hf_acquire(other, RECIPE_LIMIT_MS), 0);
    await_look(&seen, two, 1, 0);
    assert_int_equal(hf_release(first), 0);
    await_look(&seen, one, 1, 0);
    assert_int_equal(hf_release(other), 0);
    await_look(&seen, two, 0, 0);
    assert_int_equal(hf_acquire(own, RECIPE_LIMIT_MS), 0);
    await_look(&seen, two, 1, 0);
    hf_close(b);
    await_look(&seen, one, 0, 0);

    hf_survey_free(survey);
    hf_close(eye);
    hf_close(a);
}

/* A quiet line is told once, however long one looks. */
static void test_a_quiet_line_is_told_once(void **state)
{
    const char *prefix = recipe_name();
    char        quiet[64], busy[64];
    struct seen seen;

    (void)state;
    snprintf(quiet, sizeof quiet, "%s-quiet", prefix);
    snprintf(busy, sizeof busy, "%s-busy", prefix);
    struct hf_client *a = recipe_open(), *eye = recipe_open();
    struct hf_lock   *still = recipe_mutex(a, quiet), *moving = recipe_mutex(a, busy);
    assert_int_equal(hf_acquire(still, RECIPE_LIMIT_MS), 0);
    struct hf_survey *survey = start_survey(eye, &seen, prefix);

    for (int i = 0; i < 3; i++) {
        assert_int_equal(hf_acquire(moving, RECIPE_LIMIT_MS), 0);
        await_look(&seen, busy, 1, 0);
        assert_int_equal(hf_release(moving), 0);
        await_look(&seen, busy, 0, 0);
    }
    assert_string_equal(seen.name[0], quiet);
    assert_int_equal(seen.told[0], 1);
    hf_survey_free(survey);

    /* Another one begins anew. */
    survey = start_survey(eye, &seen, prefix);
    assert_true(looks(&seen, quiet, 1, 0));
    hf_close(eye); /* with the survey */
    hf_close(a);
}

static void test_a_survey_that_makes_no_sense_is_refused(void **state)
{
    struct hf_survey_options options = HF_SURVEY_INIT;
    struct hf_survey        *survey = NULL, *twin = NULL;
    struct seen              seen = { .mutex = PTHREAD_MUTEX_INITIALIZER, .prefix = "-" };
    struct hf_client        *client = recipe_open();

    (void)state;
    assert_int_equal(hf_survey_new(client, NULL, &survey), HF_EINVAL);
    assert_int_equal(hf_survey_new(client, &options, &survey), HF_EINVAL);
    assert_non_null(strstr(hf_errmsg(client), "on_line"));
    options.on_line = on_line;
    options.data = &seen;
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
