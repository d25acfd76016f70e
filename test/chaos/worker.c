/* worker.c - a process of `make chaos`: takes turns on a few locks and writes down what it
 * believes.  README.md explains the history.
 *
 *     worker turns URL WHO FOLDER SEED STYLE HOLDFAST
 *     worker command FOLDER WHO TURN LOCK MS       what `holdfast run` runs, see below
 *
 * STYLE is "plain"; "guarded": with HF_GUARDIAN; or "run": each turn is a `holdfast run`,
 * whose command does the work.  SIGTERM ends it after the present turn.
 *
 * Without arguments it takes a few turns in a memory store, as a test of its own.
 */
#include "worker.h"
#include "fence.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 3 /* of the semaphore */

const struct kind worker_kinds[KINDS] = {
    [MUTEX] = { "mutex", "mutex", 1, 1, 35, true },
    [OTHER_MUTEX] = { "other", "mutex", 1, 1, 25, true },
    [READER] = { "rw", "reader", 1, UINT32_MAX, 16, false },
    [WRITER] = { "rw", "writer", UINT32_MAX, UINT32_MAX, 8, true },
    [ONE_SLOT] = { "slots", "semaphore", 1, SLOTS, 10, false },
    [TWO_SLOTS] = { "slots", "semaphore", 2, SLOTS, 6, false },
};

struct worker worker;

void must(bool ok, const char *what, const char *why)
{
    if (ok)
        return;
    dprintf(STDERR_FILENO, "worker %s: %s: %s\n",
            worker.history.who ? worker.history.who : "", what, why);
    _exit(2);
}

unsigned dice(unsigned sides)
{
    return (unsigned)rand_r(&worker.seed) % sides;
}

void nap(unsigned us)
{
    nanosleep(&(struct timespec){ us / 1000000, (long)(us % 1000000) * 1000 }, NULL);
}

unsigned pick_us(void)
{
    unsigned chance = dice(60);

    return chance == 0 ? dice(2500000) : chance < 8 ? dice(300000) : dice(12000);
}

void write_down_want(long turn, const struct kind *kind)
{
    history_add(
        &worker.history, "want", history_now(),
        ",\"n\":%ld,\"lock\":\"%s\",\"kind\":\"%s\",\"weight\":%u,\"capacity\":%u", turn,
        kind->lock, kind->kind, kind->weight, kind->capacity);
}

void write_down_write(struct history *history, long turn, int fd, uint64_t token)
{
    uint64_t number;
    int64_t  begun = history_now();
    bool     accepted = fence_write(fd, token, &number);

    history_add(history, "write", history_now(),
                ",\"n\":%ld,\"begun\":%lld,\"token\":%llu,\"number\":%llu,\"ok\":%s",
                turn, (long long)begun, (unsigned long long)token,
                (unsigned long long)number, accepted ? "true" : "false");
}

/* ---- Main --------------------------------------------------------------------------------- */

/* A wait begins after we looked for `ending`, or before: so cancel until the process ends. */
static void *await_sigterm(void *data)
{
    sigset_t *signals = data;
    int       number;

    sigwait(signals, &number);
    worker.ending = true;
    for (;;) {
        for (int k = 0; k < KINDS; k++)
            if (worker.lock[k] != NULL)
                (void)hf_cancel(worker.lock[k]);
        nap(20000);
    }
    return NULL;
}

static void catch_sigterm(void)
{
    static sigset_t signals;
    pthread_t       thread;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    must(pthread_create(&thread, NULL, await_sigterm, &signals) == 0, "thread", "none");
}

static int make_lock(int k, struct hf_lock **ret)
{
    switch (k) {
    case MUTEX:
    case OTHER_MUTEX:
        return hf_mutex(worker.client, worker_kinds[k].lock, ret);
    case READER:
        return hf_reader(worker.client, worker_kinds[k].lock, ret);
    case WRITER:
        return hf_writer(worker.client, worker_kinds[k].lock, ret);
    default:
        return hf_semaphore(worker.client, worker_kinds[k].lock, worker_kinds[k].capacity,
                            worker_kinds[k].weight, ret);
    }
}

static void open_client(void)
{
    struct hf_options options = HF_OPTIONS_INIT;
    char              error[256] = "";

    options.on_place = on_place;
    options.error = error;
    options.error_size = sizeof error;
    if (strcmp(worker.style, "guarded") == 0) {
        options.flags = HF_GUARDIAN;
        options.guardian = worker.holdfast;
    }
    must(hf_open(worker.url, &options, &worker.client) == 0, "open", error);
    for (int k = 0; k < KINDS; k++) {
        must(make_lock(k, &worker.lock[k]) == 0, "lock", hf_errmsg(worker.client));
        worker.fence[k] = fence_open(worker.history.folder, worker_kinds[k].lock);
        must(worker.fence[k] >= 0, "fence", "cannot be opened");
    }
}

static void take_turns(long count)
{
    bool by_run = strcmp(worker.style, "run") == 0;

    history_add(&worker.history, "start", history_now(), ",\"pid\":%ld,\"style\":\"%s\"",
                (long)getpid(), worker.style);
    if (!by_run)
        open_client();
    for (long turn = 1; turn <= count && !worker.ending; turn++) {
        if (by_run)
            take_turn_by_run(turn);
        else
            take_turn(turn);
        nap(dice(5000));
    }
    history_add(&worker.history, "end", history_now(), "%s", "");
}

/* One process alone: there is nothing to wait for. */
static int test_itself(void)
{
    const char *base = getenv("TMPDIR");
    char        folder[1024], command[sizeof folder + 16];

    snprintf(folder, sizeof folder, "%s/worker-XXXXXX", base != NULL ? base : "/tmp");
    must(mkdtemp(folder) != NULL, "folder", "none");
    worker.url = "memory:worker";
    worker.style = "plain";
    must(history_open(&worker.history, folder, "a", "a") == 0, "history", "none");
    take_turns(8);
    must(worker.history.last[8].deadline == HISTORY_NEVER, "turns", "not all were taken");
    hf_close(worker.client);
    history_close(&worker.history);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static char self[4096];

    if (argc == 1)
        return test_itself();
    if (argc == 7 && strcmp(argv[1], "command") == 0)
        return be_command(argv);
    must(argc == 8 && strcmp(argv[1], "turns") == 0, "usage",
         "worker turns URL WHO FOLDER SEED STYLE HOLDFAST");
    must(readlink("/proc/self/exe", self, sizeof self - 1) > 0, "itself", "not found");
    worker.self = self;
    worker.url = argv[2];
    worker.seed = (unsigned)strtoul(argv[5], NULL, 10);
    worker.style = argv[6];
    worker.holdfast = argv[7];
    must(history_open(&worker.history, argv[4], argv[3], argv[3]) == 0, "history",
         "cannot be written");
    catch_sigterm();
    take_turns(HISTORY_TURNS - 1);
    _exit(0); /* the server has to find out, as after most ends of a process */
}
