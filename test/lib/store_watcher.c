/* store_watcher.c - see store_watcher.h. */
#include "lib/store_watcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void on_line(struct hf_store_watch *watch, const char *name,
                    struct hf_report *line, void *data)
{
    struct store_watcher *seen = data;
    size_t                i = 0;

    (void)watch;
    if (strncmp(name, seen->prefix, strlen(seen->prefix)) == 0) {
        pthread_mutex_lock(&seen->mutex);
        while (i < seen->count && strcmp(seen->name[i], name) != 0)
            i++;
        assert_true(i < STORE_WATCHER_LINES);
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

static void on_look(struct hf_store_watch *watch, void *data)
{
    struct store_watcher *seen = data;

    (void)watch;
    pthread_mutex_lock(&seen->mutex);
    seen->looks++;
    pthread_mutex_unlock(&seen->mutex);
}

static bool has_looked(struct store_watcher *seen)
{
    pthread_mutex_lock(&seen->mutex);
    bool looked = seen->looks > 0;
    pthread_mutex_unlock(&seen->mutex);
    return looked;
}

bool store_watcher_sees(struct store_watcher *seen, const char *name, size_t held,
                        size_t waiting)
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

void store_watcher_await(struct store_watcher *seen, const char *name, size_t held,
                         size_t waiting)
{
    for (int i = 0; i < 2000 && !store_watcher_sees(seen, name, held, waiting); i++)
        usleep(10000);
    if (!store_watcher_sees(seen, name, held, waiting))
        fail_msg("%s was not reported with %zu holders and %zu waiters", name, held,
                 waiting);
}

void store_watcher_start(struct store_watcher *seen, struct hf_client *client,
                         const char *prefix)
{
    struct hf_store_watch_options options = HF_STORE_WATCH_INIT;

    *seen =
        (struct store_watcher){ .mutex = PTHREAD_MUTEX_INITIALIZER, .prefix = prefix };
    options.on_queue = on_line;
    options.on_round = on_look;
    options.data = seen;
    options.pause_ms = 20;
    assert_int_equal(hf_store_watch_new(client, &options, &seen->watch), 0);
    for (int i = 0; i < 2000 && !has_looked(seen); i++)
        usleep(10000);
    assert_true(has_looked(seen));
}

void store_watcher_stop(struct store_watcher *seen)
{
    hf_store_watch_free(seen->watch);
    seen->watch = NULL;
}
