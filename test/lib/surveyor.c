/* surveyor.c - see surveyor.h. */
#include "lib/surveyor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void on_line(struct hf_survey *survey, const char *name, struct hf_report *line,
                    void *data)
{
    struct surveyor *seen = data;
    size_t           i = 0;

    (void)survey;
    if (strncmp(name, seen->prefix, strlen(seen->prefix)) == 0) {
        pthread_mutex_lock(&seen->mutex);
        while (i < seen->count && strcmp(seen->name[i], name) != 0)
            i++;
        assert_true(i < SURVEYOR_LINES);
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
    struct surveyor *seen = data;

    (void)survey;
    pthread_mutex_lock(&seen->mutex);
    seen->looks++;
    pthread_mutex_unlock(&seen->mutex);
}

static bool has_looked(struct surveyor *seen)
{
    pthread_mutex_lock(&seen->mutex);
    bool looked = seen->looks > 0;
    pthread_mutex_unlock(&seen->mutex);
    return looked;
}

bool surveyor_sees(struct surveyor *seen, const char *name, size_t held, size_t waiting)
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

void surveyor_await(struct surveyor *seen, const char *name, size_t held, size_t waiting)
{
    for (int i = 0; i < 2000 && !surveyor_sees(seen, name, held, waiting); i++)
        usleep(10000);
    if (!surveyor_sees(seen, name, held, waiting))
        fail_msg("%s was not told to have %zu holders, %zu waiters", name, held, waiting);
}

void surveyor_start(struct surveyor *seen, struct hf_client *client, const char *prefix)
{
    struct hf_survey_options options = HF_SURVEY_INIT;

    *seen = (struct surveyor){ .mutex = PTHREAD_MUTEX_INITIALIZER, .prefix = prefix };
    options.on_line = on_line;
    options.on_look = on_look;
    options.data = seen;
    options.pause_ms = 20;
    assert_int_equal(hf_survey_new(client, &options, &seen->survey), 0);
    for (int i = 0; i < 2000 && !has_looked(seen); i++)
        usleep(10000);
    assert_true(has_looked(seen));
}

void surveyor_stop(struct surveyor *seen)
{
    hf_survey_free(seen->survey);
    seen->survey = NULL;
}
