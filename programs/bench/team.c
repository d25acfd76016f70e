/* team.c - the processes of a bench: see bench.h. */
#include "bench.h"

#include "clock.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS 10000 /* until those that do not end are killed */

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_pipe(int pipe[2])
{
    close_end(&pipe[0]);
    close_end(&pipe[1]);
}

static int open_pipes(struct bench_team *team)
{
    if (pipe2(team->go, O_CLOEXEC) < 0 || pipe2(team->leash, O_CLOEXEC) < 0 ||
        pipe2(team->news, O_CLOEXEC) < 0)
        return -1;
    team->table = mmap(NULL, sizeof *team->table, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (team->table == MAP_FAILED) {
        team->table = NULL;
        return -1;
    }
    atomic_store(&team->table->giver, -1);
    atomic_store(&team->table->end, clock_boot_ns() + BENCH_PATIENCE_S * NS_PER_SEC);
    return 0;
}

int team_start(const struct bench *bench, enum bench_scenario scenario, int clients,
               struct bench_team *ret)
{
    struct bench_team team = { .go = { -1, -1 },
                               .leash = { -1, -1 },
                               .news = { -1, -1 } };

    if (open_pipes(&team) < 0) {
        team_finish(&team);
        return -1;
    }
    fflush(stdout);
    team.clients = clients;
    for (int i = 0; i < clients; i++) {
        team.pid[i] = fork();
        if (team.pid[i] == 0)
            client_live(bench, &team, scenario, i);
        if (team.pid[i] < 0) {
            team.clients = i;
            team_end(&team);
            team_finish(&team);
            return -1;
        }
    }
    close_end(&team.news[1]);
    *ret = team;
    return 0;
}

void team_go(struct bench_team *team, int64_t end)
{
    atomic_store(&team->table->end, end);
    close_end(&team->go[1]);
}

/* Those that have not ended by then wait for a store that does not answer. */
static void await_end(const struct bench_team *team)
{
    int64_t end = clock_boot_ns() + END_MS * NS_PER_MS;
    char    waste[BENCH_CLIENTS_MAX];

    while (clock_boot_ns() < end) {
        struct pollfd on = { .fd = team->news[0], .events = POLLIN };
        int           left = (int)((end - clock_boot_ns()) / NS_PER_MS) + 1;
        if (poll(&on, 1, left) > 0 && read(on.fd, waste, sizeof waste) == 0)
            return;
    }
    for (int i = 0; i < team->clients; i++)
        if (waitpid(team->pid[i], NULL, WNOHANG) == 0)
            kill(team->pid[i], SIGKILL);
}

void team_end(struct bench_team *team)
{
    close_end(&team->go[1]);
    close_end(&team->leash[1]);
    close_end(&team->news[1]);
    await_end(team);
    for (int i = 0; i < team->clients; i++)
        waitpid(team->pid[i], NULL, 0);
}

void team_finish(struct bench_team *team)
{
    close_pipe(team->go);
    close_pipe(team->leash);
    close_pipe(team->news);
    if (team->table != NULL)
        munmap(team->table, sizeof *team->table);
    team->table = NULL;
}
