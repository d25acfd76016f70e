/* sim.c - random clusters in virtual time, checked after every step.
 *
 *     sim                           200,000 schedules, the same ones every time
 *     sim --count N --seed FIRST    others; $HF_SIM_SCHEDULES is the default N
 *     sim --seed N --verbose        replay schedule N and tell what happens
 *
 * Each schedule is a world, a few hosts that run the real client engine, and a
 * few locks, all drawn from its seed.  First letters get lost and late, links
 * go down, hosts stop and die, wishes time out and are canceled.  Then it is calm:
 * everybody who still waits must be served, and nothing may be left behind.
 *
 * Ends with status 1 at the first violation, after telling how to replay it.
 */
#include "sim.h"

#include "holdfast.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SCHEDULES 200000
#define STEPS     50000 /* far more than any schedule takes */

/* ---- Telling ----------------------------------------------------------------------- */

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

    if (sim->failed) /* the first one is the one that counts */
        return;
    sim->failed = true;
    printf("not ok 1 - schedule %llu\n", (unsigned long long)sim->seed);
    va_start(args, format);
    say(sim, format, args);
    va_end(args);
    printf("replay with: sim --seed %llu --verbose\n", (unsigned long long)sim->seed);
}

/* ---- One schedule ------------------------------------------------------------------- */

static hf_time sooner(hf_time a, hf_time b)
{
    return a < b ? a : b;
}

static hf_time next_event(const struct sim *sim)
{
    hf_time next = sooner(net_next(&sim->net), chaos_next(sim));

    for (size_t i = 0; i < sim->hosts; i++) {
        next = sooner(next, host_next(&sim->host[i]));
        next = sooner(next, app_next(sim, &sim->host[i]));
    }
    return next;
}

/* False when nothing will ever happen any more. */
static bool step(struct sim *sim)
{
    hf_time next = next_event(sim);
    hf_time now = next > sim->net.now ? next : sim->net.now;

    if (next == HF_NEVER)
        return false;
    net_run(&sim->net, now);
    chaos_run(sim);
    for (size_t i = 0; i < sim->hosts; i++) {
        struct host *host = &sim->host[i];
        if (app_next(sim, host) <= now)
            app_run(sim, host);
        if (host_next(host) <= now)
            check_run(sim, host);
    }
    check_step(sim);
    if (++sim->steps > STEPS)
        sim_fail(sim, "it spins");
    return true;
}

static bool settled(const struct sim *sim)
{
    for (size_t i = 0; i < sim->hosts; i++)
        if (sim->host[i].store != NULL && sim->host[i].store->link != HF_LINK_UP)
            return false;
    return sim->calm && app_all_over(sim);
}

static void tell_waiters(struct sim *sim)
{
    for (size_t i = 0; i < sim->hosts; i++)
        for (size_t j = 0; sim->host[i].store != NULL && j < sim->wishes; j++)
            if (!hf_job_quiet(&sim->wish[i][j].job))
                sim_fail(sim, "%s is not served, though all is calm",
                         sim->wish[i][j].label);
    sim_fail(sim, "it does not settle");
}

static void run(struct sim *sim)
{
    hf_time limit = sim->calm_at + 10 * sim->ttl + 20 * HF_SEC;

    while (!sim->failed && !settled(sim))
        if (!step(sim) || sim->net.now > limit)
            tell_waiters(sim);
    for (size_t i = 0; i < sim->hosts; i++)
        if (sim->host[i].store != NULL)
            host_close(&sim->host[i], true);
    while (!sim->failed && step(sim))
        ;
    if (!sim->failed)
        check_end(sim);
    net_finish(&sim->net);
}

/* ---- All of them ---------------------------------------------------------------------- */

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

/* Tell how wishes ended.  Many schedules must have seen all there is to see,
 * or the weather has become too good to find anything. */
static bool tell_ends(const struct sim *sim, uint64_t count)
{
    static const int ends[] = {
        0, HF_EBUSY, HF_ETIMEOUT, HF_ECANCELED, HF_EMISMATCH, HF_EDOWN, HF_EFULL, HF_ELOST
    };
    static const char *const sights[SEEN] = {
        [SEEN_LESSER] = "held less than before",
        [SEEN_ASKED] = "heard that they were asked",
        [SEEN_PLACE] = "followed their place",
        [SEEN_GROUP] = "several held as one",
        [SEEN_ROLLBACK] = "several given back, since one failed",
        [SEEN_GIVE_UP] = "places behind one that must wait given up",
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
        printf("# %10llu %s\n", (unsigned long long)sim->seen[i], sights[i]);
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
    good = tell_ends(&sim, count);
    printf("# %llu steps in %.1f s, %.0f schedules/s\n", (unsigned long long)steps,
           seconds, (double)count / seconds);
    printf("%s 1 - %llu schedules from seed %llu\n", good ? "ok" : "not ok",
           (unsigned long long)count, (unsigned long long)seed);
    return good ? 0 : 1;
}
