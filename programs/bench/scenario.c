/* scenario.c - one scenario of a bench, from its first client to the last: see
 * bench.h. */
#include "bench.h"

#include "clock.h"
#include "complain.h"

#include <poll.h>
#include <unistd.h>

/* Between two looks at the queue: often enough to make way for others soon, seldom enough
 * not to change the figures. */
#define LOOK_MS 100

struct watch {
    struct bench      *bench;
    struct bench_team *team;
    struct hf_client  *client; /* for looking at the queue */
    int                ready;  /* how many clients have said so */
    bool               gone;   /* all of them have ended */
    bool               over;
};

static void hear_news(struct watch *watch)
{
    char    bytes[BENCH_CLIENTS_MAX];
    ssize_t n = read(watch->team->news[0], bytes, sizeof bytes);

    if (n > 0)
        watch->ready += (int)n;
    watch->gone = n == 0;
}

static void end_by(struct watch *watch, enum bench_end end)
{
    watch->bench->end = end;
    watch->over = true;
}

/* Until something happens, `ms` at most. */
static void pass_time(struct watch *watch, int64_t ms)
{
    struct pollfd on[] = {
        { .fd = watch->team->news[0], .events = POLLIN },
        { .fd = watch->bench->signals->fd, .events = POLLIN },
        { .fd = hf_fd(watch->client), .events = POLLIN },
    };
    poll(on, 3, clock_sooner(hf_timeout_ms(watch->client), (int)ms));
    hf_process(watch->client);
    if (on[0].revents != 0)
        hear_news(watch);
    if (on[1].revents == 0)
        return;
    int signal = signals_end(watch->bench->signals);
    if (signal == 0)
        return;
    watch->bench->signal = signal;
    end_by(watch, BENCH_BY_SIGNAL);
}

/* A client that ends early says why. */
static bool has_trouble(const struct bench_team *team)
{
    for (int i = 0; i < team->clients; i++)
        if (team->table->client[i].code != 0 || team->table->client[i].crowded)
            return true;
    return false;
}

/* A client saw that the queue is too long: find out who is in it. */
static void find_company(struct watch *watch)
{
    for (int i = 0; i < watch->team->clients; i++)
        if (watch->team->table->client[i].crowded && watch->bench->end == BENCH_BY_TIME) {
            watch->over = queue_has_others(watch->bench, watch->client);
            return;
        }
}

/* Until `end`, or until all are ready if `until_ready`. */
static void look_on(struct watch *watch, int64_t end, bool until_ready)
{
    int64_t look_at = clock_boot_ns();

    while (!watch->over && !watch->gone && !has_trouble(watch->team)) {
        int64_t now = clock_boot_ns();
        if (now >= end || (until_ready && watch->ready == watch->team->clients))
            return;
        if (now >= look_at) {
            watch->over |= queue_has_others(watch->bench, watch->client) ||
                           watch->bench->end == BENCH_BY_ERROR;
            look_at = clock_boot_ns() + LOOK_MS * NS_PER_MS;
            continue;
        }
        int64_t until = look_at < end ? look_at : end;
        pass_time(watch, (until - now) / NS_PER_MS + 1);
    }
}

/* All clients have ended: did each of them end in order? */
static void take_stock(struct bench *bench, const struct bench_team *team)
{
    if (bench->end != BENCH_BY_TIME)
        return;
    for (int i = 0; i < team->clients; i++) {
        const struct bench_client *client = &team->table->client[i];
        if (client->ended && client->code == 0 && !client->crowded)
            continue;
        bench->end = client->crowded ? BENCH_BY_COMPANY : BENCH_BY_ERROR;
        bench->code = client->crowded ? EXIT_BUSY
                      : client->ended ? client->code
                                      : EXIT_INTERNAL;
        if (client->crowded)
            complain("somebody else was in the queue of \"%s\": stopped", bench->name);
        else
            complain("%s", client->ended ? client->text
                                         : "a client of the bench has not ended");
        return;
    }
}

static void add_up(const struct bench_team *team, struct bench_result *result)
{
    for (int i = 0; i < team->clients; i++) {
        const struct bench_client *client = &team->table->client[i];
        result->turns += client->turns;
        for (int what = 0; what < BENCH_WHATS; what++)
            histogram_merge(&result->histogram[what], &client->histogram[what]);
    }
}

/* All of them have been started. */
static void measure(struct watch *watch, struct bench_result *result)
{
    struct bench_team *team = watch->team;
    int64_t            patience = atomic_load(&team->table->end);

    look_on(watch, patience, true);
    if (watch->ready == team->clients && !watch->over) {
        int64_t begin = clock_boot_ns();
        int64_t end = begin + watch->bench->time_ms * NS_PER_MS;
        team_go(team, end);
        look_on(watch, end, false);
        int64_t now = clock_boot_ns();
        result->ns = (now < end ? now : end) - begin;
    }
    find_company(watch);
    if (watch->ready < team->clients && !watch->over && clock_boot_ns() >= patience) {
        complain("some clients did not get the lock within %d s", BENCH_PATIENCE_S);
        watch->bench->code = EXIT_UNAVAILABLE;
        end_by(watch, BENCH_BY_ERROR);
    }
}

void scenario_run(struct bench *bench, enum bench_scenario scenario,
                  struct bench_result *ret)
{
    struct bench_team team;
    struct watch      watch = { .bench = bench, .team = &team };
    int               clients = scenario == BENCH_FREE ? 1 : bench->clients;

    *ret = (struct bench_result){ .scenario = scenario, .clients = clients };
    if (team_start(bench, scenario, clients, &team) < 0) {
        bench->code = complain_errno("fork");
        bench->end = BENCH_BY_ERROR;
        return;
    }
    /* Only now: the clients must not have copies of what this session has open. */
    bench->code = store_open(bench, &watch.client);
    if (bench->code == 0)
        measure(&watch, ret);
    else
        bench->end = BENCH_BY_ERROR;
    team_end(&team);
    take_stock(bench, &team);
    add_up(&team, ret);
    team_finish(&team);
    if (bench->end == BENCH_BY_TIME) /* the server is warm now */
        bench->code = queue_measure_trips(bench, watch.client);
    if (watch.client != NULL)
        hf_close(watch.client);
    if (bench->code != 0 && bench->end == BENCH_BY_TIME)
        bench->end = BENCH_BY_ERROR;
}
