/* sim.c - random clusters in virtual time, checked after every step.
 *
 *     sim                           200,000 schedules, the same ones every time
 *     sim --count N --seed FIRST    others; $HF_SIM_SCHEDULES is the default N
 *     sim --seed N --verbose        replay schedule N, with a transcript
 *
 * Each schedule is a store, a few clients that run the real engine, and a few locks, all
 * drawn from its seed.  At first messages are lost or slow, links break, clients stop and
 * die, waits time out and are canceled.  Then the faults end: all that still wait must be
 * granted, and nothing may be left behind.
 *
 * Ends with status 1 at the first violation, and prints how to replay it.
 */
#include "sim.h"

#include "holdfast.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SCHEDULES 200000
#define STEPS     50000 /* far more than any schedule takes */

/* ---- Transcript ---------------------------------------------------------------- */

static void say(const struct sim *sim, const char *format, va_list args)
{
    printf("[%7.1f] ", (double)sim->net.now / (double)HF_MS);
    vprintf(format, args);
    putchar('\n');
}

void sim_say(struct sim *sim, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(sim, format, args);
    va_end(args);
}

void sim_fail(struct sim *sim, const char *format, ...)
{
    va_list args;

    if (sim->failed) /* only the first counts */
        return;
    sim->failed = true;
    printf("not ok 1 - schedule %llu\n", (unsigned long long)sim->seed);
    va_start(args, format);
    say(sim, format, args);
    va_end(args);
    printf("replay with: sim --seed %llu --verbose\n", (unsigned long long)sim->seed);
}

/* ---- One schedule -------------------------------------------------------------- */

static hf_time sooner(hf_time a, hf_time b)
{
    return a < b ? a : b;
}

static hf_time next_event(const struct sim *sim)
{
    hf_time next = sooner(sim_network_next(&sim->net), chaos_next(sim));

    for (size_t i = 0; i < sim->clients; i++) {
        next = sooner(next, sim_client_next(&sim->client[i]));
        next = sooner(next, app_next(sim, &sim->client[i]));
    }
    return next;
}

/* False: nothing is left to happen. */
static bool step(struct sim *sim)
{
    hf_time next = next_event(sim);
    hf_time now = next > sim->net.now ? next : sim->net.now;

    if (next == HF_NEVER)
        return false;
    sim_network_run(&sim->net, now);
    chaos_run(sim);
    for (size_t i = 0; i < sim->clients; i++) {
        struct sim_client *client = &sim->client[i];
        if (app_next(sim, client) <= now)
            app_run(sim, client);
        if (sim_client_next(client) <= now)
            check_run(sim, client);
    }
    check_step(sim);
    if (++sim->steps > STEPS)
        sim_fail(sim, "too many steps: an endless loop");
    return true;
}

static bool settled(const struct sim *sim)
{
    for (size_t i = 0; i < sim->clients; i++)
        if (sim->client[i].store != NULL && sim->client[i].store->link != HF_LINK_UP)
            return false;
    return sim->calm && app_all_over(sim);
}

static void fail_waiters(struct sim *sim)
{
    for (size_t i = 0; i < sim->clients; i++)
        for (size_t j = 0; sim->client[i].store != NULL && j < sim->wishes; j++)
            if (!hf_job_quiet(&sim->wish[i][j].job))
                sim_fail(sim, "%s is not granted, though the faults are over",
                         sim->wish[i][j].label);
    sim_fail(sim, "clients do not reconnect");
}

static void run(struct sim *sim)
{
    hf_time limit = sim->calm_at + 10 * sim->ttl + 20 * HF_SEC;

    while (!sim->failed && !settled(sim))
        if (!step(sim) || sim->net.now > limit)
            fail_waiters(sim);
    for (size_t i = 0; i < sim->clients; i++)
        if (sim->client[i].store != NULL)
            sim_client_close(&sim->client[i], true);
    while (!sim->failed && step(sim))
        ;
    if (!sim->failed)
        check_end(sim);
    sim_network_finish(&sim->net);
}

/* ---- All schedules --------------------------------------------------------------- */

static bool run_all(struct sim *sim, uint64_t first, uint64_t count, uint64_t *steps)
{
    for (uint64_t i = 0; i < count; i++) {
        plan_make(sim, first + i);
        run(sim);
        *steps += sim->steps;
        if (sim->failed)
            return false;
    }
    return true;
}

/* Print how wishes ended.  Over many schedules every end and event must occur, or the
 * faults have become too few to find anything. */
static bool print_ends(const struct sim *sim, uint64_t count)
{
    static const int ends[] = {
        0, HF_EBUSY, HF_ETIMEOUT, HF_ECANCELED, HF_EMISMATCH, HF_EDOWN, HF_EFULL, HF_ELOST
    };
    static const char *const events[SEEN] = {
        [SEEN_DOWNGRADE] = "downgraded",
        [SEEN_ASKED] = "asked to release",
        [SEEN_PLACE] = "notified of their place",
        [SEEN_GROUP] = "groups held",
        [SEEN_ROLLBACK] = "groups given up, since a part failed",
        [SEEN_GIVE_UP] = "places given up, behind a part that waits",
        [SEEN_LEADER] = "elected",
    };
    bool good = true;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        uint64_t times = sim->ends[-ends[i]];
        printf("# %10llu %s\n", (unsigned long long)times,
               ends[i] == 0 ? "granted" : hf_strerror(ends[i]));
        good &= times > 0 || count < 1000;
    }
    for (size_t i = 0; i < SEEN; i++) {
        printf("# %10llu %s\n", (unsigned long long)sim->seen[i], events[i]);
        good &= sim->seen[i] > 0 || count < 1000;
    }
    return good;
}

static uint64_t number(const char *text)
{
    char    *end;
    uint64_t value = strtoull(text, &end, 10);

    if (end == text || *end != '\0') {
        fprintf(stderr, "sim: \"%s\" is not a number\n", text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "seed", required_argument, NULL, 's' },
                                             { "count", required_argument, NULL, 'c' },
                                             { "verbose", no_argument, NULL, 'v' },
                                             { 0 } };
    static struct sim          sim;
    const char                *preset = getenv("HF_SIM_SCHEDULES");
    uint64_t                   seed = 1;
    uint64_t                   count = preset != NULL ? number(preset) : SCHEDULES;
    uint64_t                   steps = 0;

    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == '?')
            return 2;
        if (c == 's')
            seed = number(optarg);
        if (c == 'c')
            count = number(optarg);
        if (c == 'v')
            sim.verbose = true, count = 1;
    }

    hf_time start = hf_now();
    bool    good = run_all(&sim, seed, count, &steps);
    double  seconds = (double)(hf_now() - start) / (double)HF_SEC;

    if (!good)
        return 1;
    good = print_ends(&sim, count);
    printf("# %llu steps in %.1f s, %.0f schedules/s\n", (unsigned long long)steps,
           seconds, (double)count / seconds);
    printf("%s 1 - %llu schedules from seed %llu\n", good ? "ok" : "not ok",
           (unsigned long long)count, (unsigned long long)seed);
    return good ? 0 : 1;
}
