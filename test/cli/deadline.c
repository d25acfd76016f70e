/* deadline.c - the guardian by itself, told deadlines as a store with leases
 * would have them.  The file store has none, so only this shows that a command
 * is asked to end, and then killed, in time, by a holdfast that does nothing. */
#include "cli/guard/cgroup.c"
#include "cli/guard/child.c"
#include "cli/guard/guard.c"
#include "cli/guard/guard_key.c"
#include "cli/guard/guard_link.c"
#include "cli/guard/guardian.c"
#include "cli/guard/settle.c"
#include "cli/guard/timer.c"
#include "cli/guard/tree.c"
#include "cli/run/held.c"
#include "cli/run/leftovers.c"
#include "cli/store_url.c"
#include "view/clock.c"
#include "view/complain.c"
#include "view/redact.c"
#include "view/signal_fd.c"
#include "view/text.c"
#include "view/text_shown.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* An event that is later than this, even on a busy machine, is a failure. */
#define LATE (5 * NS_PER_SEC)

struct fixture {
    struct signals signals;
    struct guard   guard;
    int64_t        begin;
};

static void begin(struct fixture *f, char *script, int64_t grace_ms, int64_t deadline_ms)
{
    static char       *command[] = { "sh", "-c", NULL, NULL };
    struct guard_plan  plan = { .name = "test",
                                .command = command,
                                .signal = SIGUSR1,
                                .grace_ns = grace_ms * NS_PER_MS,
                                .signals = &f->signals };
    struct guard_order go = { .kind = GUARD_GO, .token = 1, .slot = -1 };

    command[2] = script;
    assert_int_equal(signals_init(&f->signals), 0);
    assert_int_equal(guard_start(&plan, &f->guard), 0);
    f->begin = clock_boot_ns();
    go.deadline = f->begin + deadline_ms * NS_PER_MS;
    assert_int_equal(guard_go(&f->guard, &go), 0);
}

/* The next news of that kind; what comes before it is skipped. */
static int await(struct fixture *f, enum guard_news_kind kind)
{
    struct guard_news news = { 0 };
    int               r;

    do {
        struct pollfd on = { .fd = f->guard.link, .events = POLLIN };
        assert_int_equal(poll(&on, 1, 20000), 1);
        r = guard_hear(&f->guard, &news);
        assert_true(r >= 0);
    } while (r == 0 || news.kind != kind);
    return news.value;
}

static int64_t since_begin_ms(const struct fixture *f)
{
    return (clock_boot_ns() - f->begin) / NS_PER_MS;
}

static void end(struct fixture *f)
{
    await(f, GUARD_GONE);
    guard_finish(&f->guard);
    close(f->signals.fd);
    signals_restore(&f->signals);
}

static void asked_to_end_before_the_deadline(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, "trap 'exit 5' USR1; while :; do sleep 0.02; done", 7900, 8000);
    await(&f, GUARD_ASKED);
    assert_int_equal(await(&f, GUARD_EXITED), 5 << 8);
    assert_in_range(since_begin_ms(&f), 6000, 7999); /* the last quarter of 8000 */
    end(&f);
}

static void killed_at_the_deadline(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, "trap '' USR1; while :; do sleep 0.02; done", 200, 600);
    await(&f, GUARD_EXPIRED);
    assert_in_range(since_begin_ms(&f), 600, 600 + LATE / NS_PER_MS);
    assert_int_equal(await(&f, GUARD_EXITED), SIGKILL);
    end(&f);
}

static void a_stopped_command_is_asked_too(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, "trap 'exit 5' USR1; kill -STOP $$; while :; do sleep 0.02; done", 4000,
          8000);
    assert_int_equal(await(&f, GUARD_STOPPED), SIGSTOP);
    guard_tell(&f.guard, GUARD_DEADLINE, 0, clock_boot_ns() + 3 * NS_PER_SEC);
    assert_int_equal(await(&f, GUARD_EXITED), 5 << 8);
    end(&f);
}

static void a_renewed_deadline_counts(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, "trap 'exit 5' USR1; sleep 3; exit 6", 100, 2000);
    for (int i = 0; i < 6; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = 500 * NS_PER_MS }, NULL);
        guard_tell(&f.guard, GUARD_DEADLINE, 0, clock_boot_ns() + 2 * NS_PER_SEC);
    }
    assert_int_equal(await(&f, GUARD_EXITED), 6 << 8);
    end(&f);
}

static void no_deadline_is_no_hurry(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, "trap 'exit 5' USR1; sleep 0.3; exit 6", 100, 100000);
    guard_tell(&f.guard, GUARD_DEADLINE, 0, INT64_MAX);
    assert_int_equal(await(&f, GUARD_EXITED), 6 << 8);
    end(&f);
}

static void a_deadline_in_the_past_kills_at_once(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, "sleep 1000", 100, 60000);
    await(&f, GUARD_STARTED);
    guard_tell(&f.guard, GUARD_DEADLINE, 0, clock_boot_ns() - 5 * NS_PER_SEC);
    assert_int_equal(await(&f, GUARD_EXITED), SIGKILL);
    end(&f);
}

static void after_the_deadline_nothing_is_started(void **state)
{
    struct fixture    f;
    struct guard_news news = { 0 };

    (void)state;
    begin(&f, "sleep 1000", 100, -5000);
    struct pollfd on = { .fd = f.guard.link, .events = POLLIN };
    assert_int_equal(poll(&on, 1, 20000), 1);
    assert_int_equal(guard_hear(&f.guard, &news), 1);
    assert_int_equal(news.kind, GUARD_EXPIRED);
    end(&f);
}

static void lost_kills_at_once(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, "trap '' USR1 TERM; setsid sleep 1000 & sleep 1000", 100, 100000);
    await(&f, GUARD_STARTED);
    guard_tell(&f.guard, GUARD_LOST, 0, 0);
    assert_int_equal(await(&f, GUARD_EXITED), SIGKILL);
    end(&f);
    assert_int_equal(tree_signal(getpid(), 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_to_end_before_the_deadline),
        cmocka_unit_test(killed_at_the_deadline),
        cmocka_unit_test(a_stopped_command_is_asked_too),
        cmocka_unit_test(a_renewed_deadline_counts),
        cmocka_unit_test(no_deadline_is_no_hurry),
        cmocka_unit_test(a_deadline_in_the_past_kills_at_once),
        cmocka_unit_test(after_the_deadline_nothing_is_started),
        cmocka_unit_test(lost_kills_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
