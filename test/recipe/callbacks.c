/* callbacks.c - locks are freed, and clients closed or driven, while a callback runs. */
#include "lib/recipe.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A callback that blocks until the test posts `go`. */
struct gate {
    struct hf_lock *about; /* the callback of this lock blocks */
    sem_t           came, go;
    atomic_bool     passed;
    uint64_t        token; /* of the lock at the end of the callback */
};

static void gate_init(struct gate *gate)
{
    *gate = (struct gate){ .about = NULL };
    sem_init(&gate->came, 0, 0);
    sem_init(&gate->go, 0, 0);
}

static void at_gate(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct gate *gate = data;

    (void)why;
    if (lock != gate->about || state != HF_HELD)
        return;
    sem_post(&gate->came);
    sem_wait(&gate->go);
    gate->token = hf_token(lock);
    gate->passed = true;
}

static struct hf_client *open_at(struct gate *gate)
{
    struct hf_options options = HF_OPTIONS_INIT;

    options.on_state = at_gate;
    options.data = gate;
    return recipe_open_with(&options);
}

/* ---- Several as one ---------------------------------------------------------- */

#define PARTS 4

/* Until it is held, and its callback is about to run; and a little longer. */
static void spin(struct hf_lock *lock, unsigned rounds)
{
    int64_t end = recipe_ms() + 10000;

    while (hf_state(lock) != HF_HELD && recipe_ms() < end)
        ;
    for (volatile unsigned i = 0; i < rounds; i++)
        ;
}

static void test_a_set_is_freed_while_its_parts_are_granted(void **state)
{
    char              name[PARTS][80];
    struct hf_client *client = recipe_open();
    unsigned          seed = (unsigned)getpid();
    int64_t           end = recipe_ms() + 500;

    (void)state;
    print_message("# seed %u\n", seed);
    for (int i = 0; i < PARTS; i++)
        snprintf(name[i], sizeof name[i], "%s-%d", recipe_name(), i);
    while (recipe_ms() < end) {
        struct hf_lock *all, *part[PARTS];
        for (int i = 0; i < PARTS; i++)
            part[i] = recipe_mutex(client, name[i]);
        assert_int_equal(hf_all_of(part, PARTS, &all), 0);
        assert_int_equal(hf_acquire_start(all, 10000), 0);
        spin(part[(unsigned)rand_r(&seed) % PARTS], (unsigned)rand_r(&seed) % 2000);
        hf_lock_free(all);
        for (int i = 0; i < PARTS; i++)
            hf_lock_free(part[i]);
    }
    for (int i = 0; i < PARTS; i++)
        recipe_await_line(client, name[i], 0);
    hf_close(client);
}

static void free_it(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    (void)why;
    if (state != HF_HELD)
        return;
    hf_lock_free(lock);
    sem_post(data);
}

static void test_a_set_is_freed_by_its_own_callback(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct hf_lock   *part, *all;
    sem_t             freed;

    (void)state;
    sem_init(&freed, 0, 0);
    options.on_state = free_it;
    options.data = &freed;
    struct hf_client *client = recipe_open_with(&options);
    part = recipe_mutex(client, recipe_name());
    for (int i = 0; i < 20; i++) {
        assert_int_equal(hf_all_of(&part, 1, &all), 0);
        assert_int_equal(hf_acquire_start(all, 10000), 0);
        sem_wait(&freed);
        recipe_await(part, HF_IDLE);
    }
    hf_close(client);
    sem_destroy(&freed);
}

static void count_idle(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    atomic_int *idle = data;

    (void)lock, (void)why;
    *idle += state == HF_IDLE;
}

static void test_a_part_gets_callbacks_of_its_time_before_the_set(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    atomic_int        idle = 0;
    struct hf_lock   *all;

    (void)state;
    options.flags = HF_NO_KEEPER; /* so that no callback comes too early */
    options.on_state = count_idle;
    options.data = &idle;
    struct hf_client *client = recipe_open_with(&options);
    struct hf_lock   *lock = recipe_mutex(client, recipe_name());
    assert_int_equal(hf_acquire(lock, 10000), 0);
    assert_int_equal(hf_release(lock), 0);
    assert_int_equal(hf_all_of(&lock, 1, &all), 0);
    assert_int_equal(hf_acquire_start(all, 10000), 0);
    assert_int_equal(hf_process(client), 0);
    assert_int_equal(idle, 1);
    hf_lock_free(all);
    hf_close(client);
}

/* ---- Freeing and closing ------------------------------------------------------- */

static void *free_other(void *lock)
{
    hf_lock_free(lock);
    return NULL;
}

/* Not for callbacks of other locks: these may be waiting for the thread that frees. */
static void test_freeing_waits_for_its_own_callback_only(void **state)
{
    struct gate gate;

    (void)state;
    gate_init(&gate);
    struct hf_client *client = open_at(&gate);
    struct hf_lock   *other = recipe_mutex(client, recipe_name());
    gate.about = recipe_mutex(client, recipe_name());
    assert_int_equal(hf_acquire_start(gate.about, 10000), 0);
    sem_wait(&gate.came);
    hf_lock_free(other); /* must not block */
    assert_false(gate.passed);

    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, free_other, gate.about), 0);
    poll(NULL, 0, 20);
    sem_post(&gate.go);
    pthread_join(thread, NULL);
    assert_true(gate.passed);
    assert_int_not_equal(gate.token, 0);
    hf_close(client);
}

static void *close_it(void *client)
{
    hf_close(client);
    return NULL;
}

static void test_closing_waits_for_the_callback(void **state)
{
    struct gate gate;
    pthread_t   thread;

    (void)state;
    gate_init(&gate);
    struct hf_client *client = open_at(&gate);
    gate.about = recipe_mutex(client, recipe_name());
    assert_int_equal(hf_acquire_start(gate.about, 10000), 0);
    sem_wait(&gate.came);
    assert_int_equal(pthread_create(&thread, NULL, close_it, client), 0);
    poll(NULL, 0, 50);
    sem_post(&gate.go);
    pthread_join(thread, NULL);
    assert_true(gate.passed);
    assert_int_not_equal(gate.token, 0); /* the lock still existed, and was held */
}

/* ---- One at a time ------------------------------------------------------------- */

struct crowd {
    struct hf_client *client;
    atomic_int        inside, most;
    atomic_bool       stop;
};

static void count_callback(struct hf_lock *lock, enum hf_state state, int why, void *data)
{
    struct crowd *crowd = data;
    int           now = ++crowd->inside;

    (void)lock, (void)why;
    if (now > crowd->most)
        crowd->most = now;
    if (state == HF_HELD) {
        poll(NULL, 0, 1);
        (void)hf_process(crowd->client); /* from inside a callback, too */
    }
    --crowd->inside;
}

static void *drive(void *data)
{
    struct crowd *crowd = data;

    while (!crowd->stop) {
        (void)hf_process(crowd->client);
        poll(NULL, 0, 1);
    }
    return NULL;
}

static void test_one_callback_at_a_time(void **state)
{
    struct hf_options options = HF_OPTIONS_INIT;
    struct crowd      crowd = { .most = 0 };
    pthread_t         thread[3];
    struct hf_lock   *lock[4];

    (void)state;
    options.flags = HF_NO_KEEPER;
    options.on_state = count_callback;
    options.data = &crowd;
    crowd.client = recipe_open_with(&options);
    for (int i = 0; i < 4; i++)
        lock[i] = recipe_mutex(crowd.client, recipe_name());
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, drive, &crowd), 0);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++)
            assert_int_equal(hf_acquire_start(lock[i], 10000), 0);
        for (int i = 0; i < 4; i++) {
            recipe_await(lock[i], HF_HELD);
            assert_int_equal(hf_release_start(lock[i]), 0);
        }
        for (int i = 0; i < 4; i++)
            recipe_await(lock[i], HF_IDLE);
    }
    crowd.stop = true;
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(crowd.most, 1);
    hf_close(crowd.client);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_set_is_freed_while_its_parts_are_granted),
        cmocka_unit_test(test_a_set_is_freed_by_its_own_callback),
        cmocka_unit_test(test_a_part_gets_callbacks_of_its_time_before_the_set),
        cmocka_unit_test(test_freeing_waits_for_its_own_callback_only),
        cmocka_unit_test(test_closing_waits_for_the_callback),
        cmocka_unit_test(test_one_callback_at_a_time),
    };

    recipe_init(argc, argv);
    alarm(60); /* ends the program if it hangs */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
