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
    const char    *folder = argv[2], *who = argv[3];
    long           turn = atol(argv[4]);
    int64_t        now = history_now();
    struct history history;
    char           file[256];
    const char    *text = getenv("HOLDFAST_TOKEN");

    snprintf(file, sizeof file, "%s.command", who);
    must(text != NULL, "token", "none");
    must(history_open(&history, folder, file, who) == 0, "history", "cannot be written");
    uint64_t token = strtoull(text, NULL, 10);
    int      fence = fence_open(folder, argv[5]);
    int64_t  end = now + atoll(argv[6]) * 1000000;
    history_add(&history, "grant", now,
                ",\"n\":%ld,\"token\":%llu,\"deadline\":null,\"requeued\":true", turn,
                (unsigned long long)token);
    worker.seed = (unsigned)token;
    do {
        history.last[turn].when = history_now();
        if (dice(4) == 0)
            write_down_write(&history, turn, fence, token);
        history.last[turn].when = now = history_now();
        nap(200 + dice(800));
    } while (now < end);
    history.last[turn].when = history_now();
    return 0;
}

static pid_t start_run(long turn, const char *lock)
{
    char  number[32], ms[32];
    pid_t parent = getpid();

    snprintf(number, sizeof number, "%ld", turn);
    snprintf(ms, sizeof ms, "%u", pick_us() / 1000);
    pid_t pid = fork();
    must(pid >= 0, "fork", "failed");
    if (pid > 0)
        return pid;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == parent)
        execl(worker.holdfast, "holdfast", "run", "-q", "-w", "60", "--url", worker.url,
              lock, "--", worker.self, "command", worker.history.folder,
              worker.history.who, number, lock, ms, (char *)NULL);
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
void take_turn_by_run(long turn)
{
    const struct kind *kind = &worker_kinds[dice(2) == 0 ? MUTEX : OTHER_MUTEX];

    write_down_want(turn, kind);
    int status = await(start_run(turn, kind->lock));
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

    if (worker.history.last[turn].when == 0)
        history_add(&worker.history, "fail", history_now(),
                    ",\"n\":%ld,\"result\":\"%d\"", turn, code);
    else if (code == 0 || code == LOST)
        history_add(&worker.history, "release", history_now(),
                    ",\"n\":%ld,\"begun\":null,\"result\":\"%s\"", turn,
                    code == 0 ? "0" : "HF_ELOST");
    else
        history_add(&worker.history, "died", history_now(),
                    ",\"n\":%ld,\"result\":\"%d\"", turn, code);
}
