/* run_turn.c - a worker's turns by `holdfast run`. */
#include "fence.h"
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOST 79 /* exit code of `holdfast run` */

/* The command.  It goes on until it is done or killed, whatever becomes of the lock: `holdfast
 * run` has to end it in time. */
int be_command(char **argv)
{
    const struct kind *kind = &worker_kinds[atoi(argv[5])];
    const char        *folder = argv[2], *who = argv[3], *text = getenv("HOLDFAST_TOKEN");
    int64_t            now = turns_now();
    struct turns       history;
    char               file[256];

    snprintf(file, sizeof file, "%s.command", who);
    must(text != NULL, "token", "none");
    must(turns_open(&history, folder, file, who) == 0, "history", "cannot be written");
    history.turn = atol(argv[4]);
    uint64_t token = strtoull(text, NULL, 10);
    int      fence = fence_open(folder, kind->lock);
    int64_t  end = now + atoll(argv[6]) * 1000000;
    turns_add(&history, "grant", now,
              ",\"token\":%llu,\"deadline\":null,\"requeued\":true",
              (unsigned long long)token);
    worker.seed = (unsigned)token;
    struct set set = { kind->lock, kind->set, fence, token, NULL };
    if (kind->set != NO_SET && !set_begin(&set, &history))
        return 1;
    do {
        turns_touch(&history);
        if (kind->writes && dice(4) == 0)
            write_down_write(&history, fence, token);
        turns_touch(&history);
        now = turns_now();
        nap(200 + dice(800));
    } while (now < end);
    if (kind->set != NO_SET)
        set_finish(&set, &history);
    turns_touch(&history);
    return 0;
}

static pid_t start_run(int k)
{
    const struct kind *kind = &worker_kinds[k];
    char               turn[32], number[32], ms[32];
    pid_t              parent = getpid();

    snprintf(turn, sizeof turn, "%ld", worker.history.turn);
    snprintf(number, sizeof number, "%d", k);
    snprintf(ms, sizeof ms, "%u", pick_us(kind) / 1000);
    pid_t pid = fork();
    must(pid >= 0, "fork", "failed");
    if (pid > 0)
        return pid;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent)
        execl(worker.holdfast, "holdfast", "run", "-q", "-w",
              is_patient(kind) ? "60" : "0.3", "--note", worker.history.who, "--url",
              worker.url, kind->lock, "--", worker.self, "command", worker.history.folder,
              worker.history.who, turn, number, ms, (char *)NULL);
    _exit(126);
}

static int await(pid_t pid)
{
    int  status;
    bool told = false;

    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (worker.ending && !told)
            kill(pid, SIGTERM);
        told = worker.ending;
        nap(1000);
    }
    return status;
}

/* A release begins when the command has ended; it ends with `holdfast run`.  If that was killed
 * there was none. */
void take_turn_by_run(void)
{
    int                k = pick_kind();
    const struct kind *kind = &worker_kinds[k];
    struct turns      *history = &worker.history;

    turns_want(history, kind->lock, kind->weight, kind->capacity);
    int status = await(start_run(k));
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

    if (history->last[history->turn].when == 0)
        turns_add(history, "fail", turns_now(), ",\"result\":\"%d\"", code);
    else if (code == 0 || code == LOST)
        turns_add(history, "release", turns_now(), ",\"begun\":null,\"result\":\"%s\"",
                  code == 0 ? "0" : "HF_ELOST");
    else
        turns_add(history, "died", turns_now(), ",\"result\":\"%d\"", code);
}
