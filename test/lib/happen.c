/* happen.c - see happen.h. */
#include "lib/happen.h"

#include "holdfast.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct hf_shape other = { .weight = 1, .capacity = 2 };

struct hf_event seen(const struct hf_shape *ahead, const struct hf_shape *mine)
{
    static struct hf_ticket ticket[2];
    struct hf_event         event = { .what = HF_LINE, .line.ticket = ticket };

    if (ahead != NULL)
        ticket[event.line.count++] =
            (struct hf_ticket){ .seq = 5, .token = 50, .shape = *ahead, .slot = -1 };
    event.me = event.line.count;
    if (mine != NULL)
        ticket[event.line.count++] =
            (struct hf_ticket){ .seq = 7, .token = 70, .shape = *mine, .slot = 3 };
    return event;
}

static struct hf_event make_event(const struct hf_hold *hold, int which)
{
    const struct hf_shape *shape = &hold->shape;
    const struct hf_shape  lesser = { 1, shape->capacity, shape->claim };

    switch (which) {
    case WANT:
        return (struct hf_event){ .what = HF_WANT };
    case FITS:
        return seen(NULL, shape);
    case BEHIND:
        return seen(shape, shape);
    case ABSENT:
        return seen(shape, NULL);
    case EMPTY:
        return seen(NULL, NULL);
    case STRANGE:
        return seen(&other, shape);
    case LESSER:
        return seen(NULL, &lesser);
    case WOKEN:
        return (struct hf_event){ .what = HF_WOKEN };
    case DOWN:
        return (struct hf_event){ .what = HF_FAILED, .why = HF_EDOWN };
    case FAILED:
        return (struct hf_event){ .what = HF_FAILED, .why = HF_ESTORE };
    case DROP:
        return (struct hf_event){ .what = HF_DROP, .why = HF_ECANCELED };
    case LEFT:
        return (struct hf_event){ .what = HF_LEFT };
    case GONE:
        return (struct hf_event){ .what = HF_GONE };
    case EXPIRED:
        return (struct hf_event){ .what = HF_EXPIRED };
    default:
        return (struct hf_event){ .what = HF_LESSEN, .shape = lesser };
    }
}

void step(struct hf_hold *hold, int which)
{
    struct hf_event event = make_event(hold, which);

    hf_hold_step(hold, &event);
}

bool aborts(void (*body)(const void *data), const void *data)
{
    pid_t pid = fork();
    int   status;

    if (pid < 0)
        abort();
    if (pid == 0) {
        struct rlimit none = { 0, 0 };
        int           null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        setrlimit(RLIMIT_CORE, &none);
        dup2(null, STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        body(data);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid)
        abort();
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}
