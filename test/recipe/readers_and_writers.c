/* readers_and_writers.c - many readers and writers of one lock. */
#include "lib/killed_holder.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define READERS 20
#define WRITERS 8

static void test_a_report_tells_readers_from_writers(void **state)
{
    const char       *name = recipe_name();
    struct hf_client *client = recipe_open();
    struct hf_report *report = NULL;
    size_t            readers = 0, writers = 0, held = 0;

    (void)state;
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(hf_acquire_start(recipe_reader(client, name), -1), 0);
    recipe_await_line(client, name, READERS);
    for (size_t i = 0; i < WRITERS; i++)
        assert_int_equal(hf_acquire_start(recipe_writer(client, name), -1), 0);
    recipe_await_line(client, name, READERS + WRITERS);

    assert_int_equal(hf_inspect(client, name, 1000, &report), 0);
    for (size_t i = 0; i < report->count; i++) {
        readers += strcmp(report->entry[i]->kind, "reader") == 0;
        writers += strcmp(report->entry[i]->kind, "writer") == 0;
        held += report->entry[i]->held;
    }
    assert_int_equal(readers, READERS);
    assert_int_equal(writers, WRITERS);
    assert_int_equal(held, READERS);
    hf_report_free(report);
    hf_close(client);
}

/* ---- Many at once ------------------------------------------------------------------ */

#define CLIENTS 8
#define TURNS   100

struct room {
    const char *name;
    unsigned    seed;
    atomic_int *readers, *writers, *most, *wrong;
};

static const char *visit(struct room *room, struct hf_lock *lock, bool write)
{
    if (hf_acquire(lock, 20000) != 0)
        return "acquire failed";
    atomic_int *kind = write ? room->writers : room->readers;
    int         now = ++*kind;
    if (write)
        *room->wrong += now > 1 || *room->readers > 0;
    else
        *room->wrong += *room->writers > 0;
    int most = *room->most;
    while (!write && now > most && !atomic_compare_exchange_weak(room->most, &most, now))
        ;
    if (rand_r(&room->seed) % 8 == 0)
        poll(NULL, 0, 1); /* so that they overlap */
    --*kind;
    return hf_release(lock) == 0 ? NULL : "release failed";
}

static void *visit_often(void *data)
{
    struct room      *room = data;
    struct hf_client *client;
    struct hf_lock   *r, *w;
    const char       *fault = NULL;

    if (hf_open(recipe_url(), NULL, &client) != 0)
        return "no client";
    if (hf_reader(client, room->name, &r) != 0 || hf_writer(client, room->name, &w) != 0)
        return "no lock";
    for (int i = 0; i < TURNS && fault == NULL; i++) {
        bool write = rand_r(&room->seed) % 10 == 0;
        fault = visit(room, write ? w : r, write);
    }
    hf_close(client);
    return (void *)fault;
}

static void test_random_readers_and_writers_exclude_each_other(void **state)
{
    atomic_int  readers = 0, writers = 0, most = 0, wrong = 0;
    const char *name = recipe_name();
    struct room room[CLIENTS];
    pthread_t   thread[CLIENTS];

    (void)state;
    for (unsigned i = 0; i < CLIENTS; i++) {
        room[i] = (struct room){ name, i + 1, &readers, &writers, &most, &wrong };
        assert_int_equal(pthread_create(&thread[i], NULL, visit_often, &room[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        void *fault;
        pthread_join(thread[i], &fault);
        assert_null(fault);
    }
    assert_int_equal(wrong, 0);
    assert_true(most > 1); /* readers did share */
}

/* The other reader still holds, and the writer waits for it alone. */
static void test_a_dead_reader_leaves_other_places_alone(void **state)
{
    const char          *name = recipe_name();
    struct killed_holder dying;

    (void)state;
    killed_holder_hold(&dying, hf_reader, name);
    struct hf_client *client = recipe_open();
    struct hf_lock   *r = recipe_reader(client, name), *w = recipe_writer(client, name);
    assert_int_equal(hf_acquire_start(r, -1), 0);
    recipe_await(r, HF_HELD);
    assert_int_equal(hf_acquire_start(w, -1), 0);
    recipe_await_line(client, name, 3);
    killed_holder_kill(&dying, client, name, 2);
    assert_int_equal(hf_state(r), HF_HELD);
    assert_int_equal(hf_state(w), HF_WAITING);
    assert_int_equal(hf_release(r), 0);
    recipe_await(w, HF_HELD);
    hf_close(client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_report_tells_readers_from_writers),
        cmocka_unit_test(test_random_readers_and_writers_exclude_each_other),
        cmocka_unit_test(test_a_dead_reader_leaves_other_places_alone),
    };

    recipe_init(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
