/* run.c - hf_drive_run(): a function runs while no thread turns the engine, and its caller
 * returns whatever the other threads do then. */
#include "unit/lib/drive_machine.h"

#include "holdfast.h"

#include <sys/eventfd.h>
#include <unistd.h>

struct visitor {
    struct machine *machine;
    bool            ran, returned; /* with the mutex */
    pthread_t       thread;
};

static void visit(void *arg)
{
    struct visitor *visitor = arg;

    assert_int_equal(visitor->machine->at_work, 0); /* not in the middle of a turn */
    visitor->ran = true;
}

static void *run_in_thread(void *data)
{
    struct visitor *visitor = data;
    int             cancel = hf_drive_begin(&visitor->machine->drive);

    hf_drive_run(&visitor->machine->drive, visit, visitor);
    visitor->returned = true;
    hf_drive_end(&visitor->machine->drive, cancel);
    return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), void *data)
{
    assert_int_equal(pthread_create(thread, NULL, run, data), 0);
}

static void await_return(struct visitor *visitor)
{
    bool returned = false;

    for (hf_time end = hf_now() + 60 * HF_SEC; !returned && hf_now() < end;
         usleep(1000)) {
        int cancel = hf_drive_begin(&visitor->machine->drive);
        returned = visitor->returned;
        hf_drive_end(&visitor->machine->drive, cancel);
    }
    assert_true(returned);
    pthread_join(visitor->thread, NULL);
    assert_true(visitor->ran);
}

static bool is_polling(const struct machine *machine)
{
    return machine->drive.polling;
}

static bool one_sleeps(const struct machine *machine)
{
    return machine->drive.sleepers != NULL;
}

static bool two_sleep(const struct machine *machine)
{
    return machine->drive.sleepers != NULL && machine->drive.sleepers->next != NULL;
}

/* Have the turn that stopped go on, with no further stop. */
static void go_on(struct machine *machine)
{
    machine->stop = false; /* the thread that turns reads it after sem_wait() */
    sem_post(&machine->leave);
}

/* Another thread is in a turn when we come, and polls after it: it must not leave us
 * asleep until something else happens. */
static void test_a_thread_that_turned_goes_on_to_poll(void **state)
{
    struct machine machine;
    struct goal    driver = { .machine = &machine, .done = 2, .deadline = HF_NEVER };
    struct visitor visitor = { .machine = &machine };

    (void)state;
    machine_init(&machine, false);
    start(&driver.thread, wait_in_thread, &driver);
    await_machine(&machine, is_polling);
    machine.stop = true;
    assert_int_equal(eventfd_write(machine.fd, 1), 0); /* the first of two answers */
    sem_wait(&machine.entered);
    start(&visitor.thread, run_in_thread, &visitor);
    await_machine(&machine, two_sleep);
    assert_false(visitor.ran);
    go_on(&machine);
    await_return(&visitor);
    assert_int_equal(machine.done, 1); /* the other thread still waits */

    assert_int_equal(eventfd_write(machine.fd, 1), 0);
    pthread_join(driver.thread, NULL);
    assert_int_equal(driver.result, 0);
    machine_finish(&machine);
}

static void *turn_in_thread(void *data)
{
    struct machine *machine = data;
    int             cancel = hf_drive_begin(&machine->drive);

    hf_drive_turn(&machine->drive, false);
    hf_drive_end(&machine->drive, cancel);
    return NULL;
}

/* The thread in the turn waits for nothing, as in hf_lock_free(). */
static void test_a_thread_that_turned_goes_away(void **state)
{
    (void)state;
    for (int keeper = 0; keeper < 2; keeper++) {
        struct machine machine;
        struct visitor visitor = { .machine = &machine };
        pthread_t      turner;

        machine_init(&machine, keeper);
        machine.stop = true;
        start(&turner, turn_in_thread, &machine);
        sem_wait(&machine.entered);
        start(&visitor.thread, run_in_thread, &visitor);
        await_machine(&machine, one_sleeps);
        go_on(&machine);
        await_return(&visitor);
        pthread_join(turner, NULL);
        machine_finish(&machine);
    }
}

static void test_nobody_turns(void **state)
{
    struct machine machine;
    struct visitor visitor = { .machine = &machine };

    (void)state;
    machine_init(&machine, false);
    run_in_thread(&visitor);
    assert_true(visitor.ran);
    assert_int_equal(machine.turns, 0);
    machine_finish(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_that_turned_goes_on_to_poll),
        cmocka_unit_test(test_a_thread_that_turned_goes_away),
        cmocka_unit_test(test_nobody_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
