/* client_process.c - one client of a bench: see bench.h. */
#include "bench.h"

#include "clock.h"
#include "complain.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define RELEASE_NS (5 * NS_PER_SEC) /* a release that takes longer is given up */

struct runner {
    const struct bench  *bench;
    struct bench_team   *team;
    struct bench_client *me;
    enum bench_scenario  scenario;
    int                  number;
    struct hf_client    *client;
    struct hf_lock      *lock;
    bool                 measuring; /* it has been told to go */
    bool                 over;
};

static void fail(struct runner *runner, int error)
{
    runner->over = true;
    runner->me->code = exit_for(error);
    snprintf(runner->me->text, sizeof runner->me->text, "%s",
             failure_text(runner->client, error));
}

/* All clients queue at once: at most that many can be ahead of this one. */
static void look_ahead(struct runner *runner)
{
    if (!runner->measuring || hf_ahead(runner->lock) < runner->team->clients)
        return;
    runner->me->crowded = true;
    runner->over = true;
}

/* Drive the client while the lock is in `state`, until `end`. */
static void pass_time(struct runner *runner, enum hf_state state, int64_t end)
{
    hf_process(runner->client);
    while (hf_state(runner->lock) == state && clock_boot_ns() < end) {
        struct pollfd on[] = {
            { .fd = hf_fd(runner->client), .events = POLLIN },
            { .fd = runner->team->leash[0], .events = POLLIN },
        };
        int left = (int)((end - clock_boot_ns()) / NS_PER_MS) + 1;
        poll(on, 2, clock_sooner(hf_timeout_ms(runner->client), left));
        hf_process(runner->client);
        if (state != HF_WAITING)
            continue;
        look_ahead(runner);
        runner->over |= on[1].revents != 0;
        if (runner->over)
            return;
    }
}

/* A lock that was taken away meanwhile says so when it is released. */
static void give_back(struct runner *runner)
{
    int64_t begin = clock_boot_ns();

    atomic_store(&runner->team->table->giver, runner->number);
    atomic_store(&runner->team->table->given_at, begin);
    int r = hf_release_start(runner->lock);
    if (r == 0) {
        pass_time(runner, HF_LEAVING, begin + RELEASE_NS);
        r = hf_state(runner->lock) == HF_IDLE ? hf_why(runner->lock) : HF_EDOWN;
    }
    if (r < 0)
        fail(runner, r);
    else if (runner->measuring && runner->scenario == BENCH_FREE)
        histogram_add(&runner->me->histogram[BENCH_GIVE_BACK], clock_boot_ns() - begin);
}

/* It was requested at `begin`, and granted at `now`. */
static void count_grant(struct runner *runner, int64_t begin, int64_t now)
{
    struct bench_table *table = runner->team->table;
    int                 giver = atomic_load(&table->giver);

    runner->me->turns++;
    if (runner->scenario == BENCH_FREE) {
        histogram_add(&runner->me->histogram[BENCH_TAKE], now - begin);
        return;
    }
    histogram_add(&runner->me->histogram[BENCH_WAIT], now - begin);
    if (giver >= 0 && giver != runner->number)
        histogram_add(&runner->me->histogram[BENCH_PASS],
                      now - atomic_load(&table->given_at));
}

static void take_turn(struct runner *runner)
{
    int64_t begin = clock_boot_ns();
    int64_t end = atomic_load(&runner->team->table->end);

    int r = hf_acquire_start(runner->lock, -1);
    if (r < 0) {
        fail(runner, r);
        return;
    }
    pass_time(runner, HF_WAITING, end);
    int64_t now = clock_boot_ns();
    if (hf_state(runner->lock) == HF_HELD) {
        if (runner->measuring)
            count_grant(runner, begin, now);
        give_back(runner);
    } else if (hf_state(runner->lock) != HF_WAITING) {
        fail(runner, hf_why(runner->lock) < 0 ? hf_why(runner->lock) : HF_ELOST);
    }
    runner->over |= now >= end;
}

/* Is this pipe closed?  With `wait`: wait until it is. */
static bool is_told(const struct runner *runner, int fd, bool wait)
{
    for (;;) {
        struct pollfd on[] = {
            { .fd = fd, .events = POLLIN },
            { .fd = hf_fd(runner->client), .events = POLLIN },
        };
        poll(on, 2, wait ? hf_timeout_ms(runner->client) : 0);
        if (on[0].revents != 0 || !wait)
            return on[0].revents != 0;
        hf_process(runner->client);
    }
}

/* The first turn makes the session, and is not measured. */
static void live(struct runner *runner)
{
    int r = hf_mutex(runner->client, runner->bench->name, &runner->lock);

    if (r < 0) {
        fail(runner, r);
        return;
    }
    take_turn(runner);
    if (runner->over || write(runner->team->news[1], "r", 1) != 1)
        return;
    runner->measuring = is_told(runner, runner->team->go[0], true);
    while (!runner->over && !is_told(runner, runner->team->leash[0], false))
        take_turn(runner);
}

_Noreturn void client_live(const struct bench *bench, struct bench_team *team,
                           enum bench_scenario scenario, int number)
{
    struct runner runner = { .bench = bench,
                             .team = team,
                             .me = &team->table->client[number],
                             .scenario = scenario,
                             .number = number };

    close(team->go[1]);
    close(team->leash[1]);
    close(team->news[0]);
    int r = store_try(bench, runner.me->text, sizeof runner.me->text, &runner.client);
    runner.me->code = r < 0 ? exit_for(r) : 0;
    if (runner.me->code == 0) {
        live(&runner);
        hf_close(runner.client); /* gives back what is left */
    }
    runner.me->ended = true;
    _exit(0);
}
