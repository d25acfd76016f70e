/* worker.c - a process of `make chaos`: takes turns on a few locks and writes down what it
 * believes.  README.md explains the history.
 *
 *     worker turns URL WHO FOLDER SEED STYLE HOLDFAST WORKLOAD
 *     worker command FOLDER WHO TURN KIND MS       what `holdfast run` runs, see below
 *
 * STYLE is "plain"; "guarded": with HF_GUARDIAN; or "run": each turn is a `holdfast run`,
 * whose command does the work.  WORKLOAD is "mutex": locks of all kinds; "set": a set under a
 * lock; "fenced": a set with a fence; or "all".  SIGTERM ends it after the present turn;
 * SIGUSR1 makes it break a place.
 *
 * Without arguments it takes a few turns in a memory store, as a test of its own.
 */
#include "worker.h"
#include "fence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 3 /* of the semaphore */

const struct kind worker_kinds[KINDS] = {
    [MUTEX] = { "mutex", 1, 1, 28, true, NO_SET },
    [OTHER_MUTEX] = { "other", 1, 1, 18, true, NO_SET },
    [READER] = { "rw", 1, UINT32_MAX, 16, false, NO_SET },
    [WRITER] = { "rw", UINT32_MAX, UINT32_MAX, 8, true, NO_SET },
    [ONE_SLOT] = { "slots", 1, SLOTS, 14, false, NO_SET },
    [TWO_SLOTS] = { "slots", 2, SLOTS, 12, false, NO_SET },
    [SET] = { "set", 1, 1, 2, false, PLAIN_SET },
    [FENCED] = { "fenced", 1, 1, 2, false, FENCED_SET },
};

struct worker worker;

void must(bool ok, const char *what, const char *why)
{
    if (ok)
        return;
    dprintf(STDERR_FILENO, "worker %s: %s: %s\n", worker.history.who, what, why);
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

static bool fits_workload(int k)
{
    static const char *const workload[] = {
        [NO_SET] = "mutex", [PLAIN_SET] = "set", [FENCED_SET] = "fenced"
    };
    bool by_run = strcmp(worker.style, "run") == 0;

    return (strcmp(worker.workload, "all") == 0 ||
            strcmp(worker.workload, workload[worker_kinds[k].set]) == 0) &&
           (!by_run || worker_kinds[k].capacity == 1);
}

int pick_kind(void)
{
    int k;

    do {
        unsigned chance = dice(100);
        for (k = 0; chance >= worker_kinds[k].often; k++)
            chance -= worker_kinds[k].often;
    } while (!fits_workload(k));
    return k;
}

bool is_patient(const struct kind *kind)
{
    return kind->set == NO_SET || strcmp(worker.workload, "all") != 0;
}

unsigned pick_us(const struct kind *kind)
{
    unsigned chance = dice(150);

    if (kind->set != NO_SET)
        return dice(2000000);
    return chance == 0 ? dice(2500000) : chance < 8 ? dice(300000) : dice(12000);
}

bool write_down_rename(struct turns *history, int fd, uint64_t token, const char *from,
                       const char *to)
{
    uint64_t number;
    int64_t  begun = turns_now();
    bool     accepted = fence_rename(fd, token, &number, from, to);

    turns_add(history, "write", turns_now(),
              ",\"begun\":%lld,\"token\":%llu,\"number\":%llu,\"ok\":%s",
              (long long)begun, (unsigned long long)token, (unsigned long long)number,
              accepted ? "true" : "false");
    return accepted;
}

bool write_down_write(struct turns *history, int fd, uint64_t token)
{
    return write_down_rename(history, fd, token, NULL, NULL);
}

/* ---- Main --------------------------------------------------------------------------------- */

static int make_lock(int k, struct hf_lock **ret)
{
    switch (k) {
    case MUTEX:
    case OTHER_MUTEX:
    case SET:
    case FENCED:
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
        must(make_lock(k, &worker.lock[k]) == 0 &&
                 hf_set_note(worker.lock[k], worker.history.who) == 0,
             "lock", hf_errmsg(worker.client));
        worker.fence[k] = fence_open(worker.history.folder, worker_kinds[k].lock);
        must(worker.fence[k] >= 0, "fence", "cannot be opened");
    }
}

static void take_turns(long count)
{
    bool by_run = strcmp(worker.style, "run") == 0;

    turns_add(&worker.history, "start", turns_now(), ",\"pid\":%ld,\"style\":\"%s\"",
              (long)getpid(), worker.style);
    if (!by_run)
        open_client();
    for (long turn = 1; turn <= count && !worker.ending; turn++) {
        if (by_run)
            take_turn_by_run();
        else
            take_turn();
        nap(dice(5000));
    }
    turns_end(&worker.history);
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
    worker.workload = "mutex";
    must(turns_open(&worker.history, folder, "a", "a") == 0, "history", "none");
    take_turns(8);
    must(worker.history.last[8].deadline == TURNS_NEVER, "turns", "not all were taken");
    hf_close(worker.client);
    turns_close(&worker.history);
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
    must(argc == 9 && strcmp(argv[1], "turns") == 0, "usage",
         "worker turns URL WHO FOLDER SEED STYLE HOLDFAST WORKLOAD");
    must(readlink("/proc/self/exe", self, sizeof self - 1) > 0, "itself", "not found");
    worker.self = self;
    worker.url = argv[2];
    worker.seed = (unsigned)strtoul(argv[5], NULL, 10);
    worker.style = argv[6];
    worker.holdfast = argv[7];
    worker.workload = argv[8];
    must(turns_open(&worker.history, argv[4], argv[3], argv[3]) == 0, "history",
         "cannot be written");
    meddle_start();
    take_turns(TURNS_MAX - 1);
    _exit(0); /* the server has to find out, as after most ends of a process */
}
