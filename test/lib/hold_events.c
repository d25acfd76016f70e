/* hold_events.c - see hold_events.h. */
#include "lib/hold_events.h"

#include "holdfast.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct hf_event granted(uint32_t weight)
{
    return (struct hf_event){
        .what = HF_STANDING,
        .standing = { .state = HF_STAND_HOLDS, .token = 70, .weight = weight, .slot = 3 },
    };
}

static struct hf_event waits(uint32_t weight)
{
    return (struct hf_event){
        .what = HF_STANDING,
        .standing = { .state = HF_STAND_WAITS,
                      .token = 70,
                      .weight = weight,
                      .slot = -1,
                      .ahead = 1 },
    };
}

static struct hf_event make_event(const struct hf_hold *hold, int which)
{
    const struct hf_shape *shape = &hold->shape;
    const struct hf_shape  lesser = { 1, shape->capacity, shape->claim };

    switch (which) {
    case WANT:
        return (struct hf_event){ .what = HF_WANT };
    case HOLDS:
        return granted(shape->weight);
    case WAITS:
        return waits(shape->weight);
    case NONE:
        return (struct hf_event){ .what = HF_STANDING,
                                  .standing = { .state = HF_STAND_NONE, .slot = -1 } };
    case LESSER:
        return granted(lesser.weight);
    case CHANGED:
        return (struct hf_event){ .what = HF_CHANGED };
    case BUSY:
        return (struct hf_event){ .what = HF_FAILED, .why = HF_EBUSY };
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
        return (struct hf_event){ .what = HF_HOLD_LESS, .shape = lesser };
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
