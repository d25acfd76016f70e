/* drive.c - which thread turns the engine, and which are woken: loop.c, wait.c and
 * keeper.c with a counter instead of an engine. */
#include "unit/lib/drive_machine.h"

#include "holdfast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

static void test_a_waiting_call_turns_the_engine_itself(void **state)
{
    struct machine machine;
    struct goal    goal = { .machine = &machine, .done = 3, .deadline = HF_NEVER };

    (void)state;
    machine_init(&machine, false);
    int cancel = hf_drive_begin(&machine.drive);
    post(&machine, 1);
    machine.again = 2; /* posted during a turn: it turns again before it returns */
    hf_drive_end(&machine.drive, cancel);
    assert_int_equal(wait_for(&goal), 0);
    assert_int_equal(machine.turns, 3);
    machine_finish(&machine);
}

static void test_a_wait_ends_at_its_deadline(void **state)
{
    for (int keeper = 0; keeper < 2; keeper++) {
        struct machine machine;
        struct goal    goal = { .machine = &machine, .done = 1 };
        (void)state;
        machine_init(&machine, keeper);
        hf_time start = hf_now();
        goal.deadline = start + 30 * HF_MS;
        assert_int_equal(wait_for(&goal), HF_ETIMEOUT);
        assert_true(hf_now() - start >= 30 * HF_MS);
        machine_finish(&machine);
    }
}

/* Seconds until the timer fires; 0: not set.  Its clock also counts while the machine is
 * suspended. */
static long timer_left(const struct machine *machine)
{
    char path[64], line[128];
    long seconds = -1;
    int  clock = -1;

    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", machine->drive.timer);
    FILE *info = fopen(path, "re");
    assert_non_null(info);
    while (fgets(line, sizeof line, info) != NULL)
        if (sscanf(line, "clockid: %d", &clock) != 1)
            sscanf(line, "it_value: (%ld", &seconds);
    fclose(info);
    assert_int_equal(clock, CLOCK_BOOTTIME);
    return seconds;
}

/* The polling thread keeps the deadlines of all waiting threads: its timer counts while
 * the machine is suspended, timeouts of semaphores and poll() do not. */
static void test_a_deadline_counts_while_the_machine_sleeps(void **state)
{
    struct machine machine;
    struct goal    driver = { .machine = &machine, .done = 1, .deadline = HF_NEVER };
    struct goal    sleeper = driver;
    bool           drives = false;

    (void)state;
    machine_init(&machine, false);
    assert_int_equal(pthread_create(&driver.thread, NULL, wait_in_thread, &driver), 0);
    for (hf_time end = hf_now() + 10 * HF_SEC; !drives && hf_now() < end; usleep(1000)) {
        int cancel = hf_drive_begin(&machine.drive);
        drives = machine.drive.polling;
        hf_drive_end(&machine.drive, cancel);
    }
    assert_true(drives);
    assert_int_equal(timer_left(&machine), 0);

    sleeper.deadline = hf_now() + 3600 * HF_SEC;
    assert_int_equal(pthread_create(&sleeper.thread, NULL, wait_in_thread, &sleeper), 0);
    for (hf_time end = hf_now() + 10 * HF_SEC; hf_now() < end; usleep(1000))
        if (timer_left(&machine) > 0)
            break;
    assert_in_range(timer_left(&machine), 3500, 3600);

    assert_int_equal(eventfd_write(machine.fd, 1), 0); /* the answer, for both */
    pthread_join(driver.thread, NULL);
    pthread_join(sleeper.thread, NULL);
    assert_int_equal(driver.result, 0);
    assert_int_equal(sleeper.result, 0);
    machine_finish(&machine);
}

/* The polling thread goes on; the timer is set for the second deadline. */
static void test_each_waiting_thread_has_its_own_deadline(void **state)
{
    enum { THREADS = 3 };
    struct machine machine;
    struct goal    goal[THREADS];

    (void)state;
    machine_init(&machine, false);
    for (int i = 0; i < THREADS; i++) {
        goal[i] =
            (struct goal){ .machine = &machine,
                           .done = 1,
                           .deadline = i == 0 ? HF_NEVER : hf_now() + i * 30 * HF_MS };
        assert_int_equal(pthread_create(&goal[i].thread, NULL, wait_in_thread, &goal[i]),
                         0);
    }
    for (int i = 1; i < THREADS; i++) {
        pthread_join(goal[i].thread, NULL);
        assert_int_equal(goal[i].result, HF_ETIMEOUT);
        assert_true(hf_now() >= goal[i].deadline);
    }
    assert_int_equal(eventfd_write(machine.fd, 1), 0);
    pthread_join(goal[0].thread, NULL);
    assert_int_equal(goal[0].result, 0);
    machine_finish(&machine);
}

/* Otherwise the others would sleep for ever, since nobody polls. */
static void test_a_finished_thread_hands_polling_on(void **state)
{
    enum { THREADS = 4 };
    struct machine machine;
    struct goal    goal[THREADS];

    (void)state;
    machine_init(&machine, false);
    for (int i = 0; i < THREADS; i++) {
        goal[i] = (struct goal){ .machine = &machine,
                                 .done = i + 1,
                                 .deadline = hf_now() + 30 * HF_SEC };
        assert_int_equal(pthread_create(&goal[i].thread, NULL, wait_in_thread, &goal[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++) { /* each answer ends one of them */
        assert_int_equal(eventfd_write(machine.fd, 1), 0);
        pthread_join(goal[i].thread, NULL);
        assert_int_equal(goal[i].result, 0);
    }
    machine_finish(&machine);
}

static void test_the_keeper_turns_while_nobody_waits(void **state)
{
    struct machine machine;
    bool           delivered = false;

    (void)state;
    machine_init(&machine, true);
    int cancel = hf_drive_begin(&machine.drive);
    machine.wake = hf_now() + 20 * HF_MS; /* a timer, set by the first turn */
    post(&machine, 1);
    machine.drive.pending = true;
    hf_drive_nudge(&machine.drive);
    hf_drive_end(&machine.drive, cancel);
    for (hf_time end = hf_now() + 10 * HF_SEC; !delivered && hf_now() < end;) {
        usleep(1000);
        cancel = hf_drive_begin(&machine.drive);
        delivered = machine.done == 1 && machine.turns >= 2 && machine.delivered == 1;
        hf_drive_end(&machine.drive, cancel);
    }
    assert_true(delivered);
    machine_finish(&machine);
}

/* A post makes the descriptor readable; hf_process() does the work. */
static void test_a_loop_of_the_caller(void **state)
{
    struct machine machine;

    (void)state;
    machine_init(&machine, false);
    int cancel = hf_drive_begin(&machine.drive);
    int fd = hf_drive_fd(&machine.drive);
    assert_true(fd >= 0);
    assert_int_equal(hf_drive_fd(&machine.drive), fd);
    post(&machine, 1);
    hf_drive_nudge(&machine.drive);
    assert_true(machine.drive.kicked);
    hf_drive_process(&machine.drive);
    assert_false(machine.drive.kicked);
    assert_int_equal(machine.done, 1);
    assert_int_equal(machine.delivered, 0);
    machine.drive.pending = true;
    hf_drive_announce(&machine.drive);
    assert_true(machine.drive.kicked);
    hf_drive_process(&machine.drive);
    assert_int_equal(machine.delivered, 1);
    hf_drive_end(&machine.drive, cancel);
    machine_finish(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_waiting_call_turns_the_engine_itself),
        cmocka_unit_test(test_a_wait_ends_at_its_deadline),
        cmocka_unit_test(test_a_deadline_counts_while_the_machine_sleeps),
        cmocka_unit_test(test_each_waiting_thread_has_its_own_deadline),
        cmocka_unit_test(test_a_finished_thread_hands_polling_on),
        cmocka_unit_test(test_the_keeper_turns_while_nobody_waits),
        cmocka_unit_test(test_a_loop_of_the_caller),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
