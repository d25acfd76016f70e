/* local.c - see local.h.
 *
 * Worlds are found by name in a list under one mutex; each has a mutex of its
 * own, held for the time of one call.  Whoever changes a line finds there whom
 * that concerns, and rings their eventfd.  Nobody is called with a mutex held.
 */
#include "store/memory/local.h"

#include "base/random.h"
#include "holdfast.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct shared {
    struct hf_world world;
    pthread_mutex_t mutex;
    char           *name;
    size_t          wires; /* under the list's mutex, as is next */
    struct shared  *next;
};

struct wire {
    struct hf_wire   base;
    struct shared   *shared;
    uint64_t         session;
    struct hf_answer answer; /* to the last call, or news */
    bool             answered;
    hf_time          next;
};

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct shared  *list;
static uint64_t        highest_token; /* of worlds that are gone (S5) */

static void ring_bell(void *owner)
{
    struct wire *wire = owner;
    uint64_t     one = 1;

    /* Fails only if 2^64-1 rings went unheard. */
    if (write(wire->base.fd, &one, sizeof one) < 0)
        return;
}

/* ---- Worlds by name ------------------------------------------------------------ */

static struct shared *shared_new(const char *name)
{
    struct shared *shared = calloc(1, sizeof *shared);
    if (shared == NULL)
        return NULL;
    shared->name = strdup(name);
    if (shared->name == NULL) {
        free(shared);
        return NULL;
    }
    pthread_mutex_init(&shared->mutex, NULL);
    hf_world_init(&shared->world, highest_token);
    /* No session has the number of one of an earlier world, which a will may name. */
    shared->world.number = hf_random() >> 1;
    shared->world.bell = ring_bell;
    return shared;
}

static struct shared *join_shared(const char *name)
{
    pthread_mutex_lock(&list_mutex);
    struct shared *shared = list;
    while (shared != NULL && strcmp(shared->name, name) != 0)
        shared = shared->next;
    if (shared == NULL) {
        shared = shared_new(name);
        if (shared != NULL) {
            shared->next = list;
            list = shared;
        }
    }
    if (shared != NULL)
        shared->wires++;
    pthread_mutex_unlock(&list_mutex);
    return shared;
}

static void part_shared(struct shared *shared)
{
    pthread_mutex_lock(&list_mutex);
    assert(shared->wires > 0);
    bool last = --shared->wires == 0;
    if (last) {
        struct shared **at = &list;
        while (*at != shared) {
            assert(*at != NULL); /* it is in the list as long as a wire leads to it */
            at = &(*at)->next;
        }
        *at = shared->next;
        if (shared->world.token > highest_token)
            highest_token = shared->world.token;
    }
    pthread_mutex_unlock(&list_mutex);
    if (!last)
        return;
    hf_world_finish(&shared->world);
    pthread_mutex_destroy(&shared->mutex);
    free(shared->name);
    free(shared);
}

/* ---- The wire ------------------------------------------------------------------- */

static void wire_send(struct hf_wire *base, const struct hf_call *call, hf_time now)
{
    struct wire *wire = (struct wire *)base;

    assert(!wire->answered); /* the store reads before it sends again */
    pthread_mutex_lock(&wire->shared->mutex);
    wire->shared->world.wall = hf_wall_us();
    wire->answered = hf_world_call(&wire->shared->world, call, now, &wire->answer);
    pthread_mutex_unlock(&wire->shared->mutex);
    if (call->kind == HF_CALL_HELLO)
        wire->session = wire->answer.session;
}

static const struct hf_answer *wire_receive(struct hf_wire *base, hf_time now)
{
    struct wire     *wire = (struct wire *)base;
    struct hf_world *world = &wire->shared->world;

    if (wire->answered) {
        wire->answered = false;
        return &wire->answer;
    }
    pthread_mutex_lock(&wire->shared->mutex);
    wire->next = hf_world_pass(world, now);
    bool news = hf_world_news(world, wire->session, &wire->answer);
    bool gone = wire->session != 0 && hf_world_session(world, wire->session) == NULL;
    pthread_mutex_unlock(&wire->shared->mutex);
    if (gone) {
        wire->session = 0; /* told once */
        hf_answer_begin(&wire->answer, 0);
        wire->answer.gone = true;
    }
    return news || gone ? &wire->answer : NULL;
}

static void wire_quiet(struct hf_wire *base)
{
    uint64_t rings;

    if (read(base->fd, &rings, sizeof rings) < 0)
        return; /* nobody rang: we were only asked to look */
}

static hf_time wire_next(struct hf_wire *base)
{
    return ((struct wire *)base)->next;
}

static void wire_close(struct hf_wire *base)
{
    struct wire *wire = (struct wire *)base;

    part_shared(wire->shared);
    close(wire->base.fd);
    hf_answer_finish(&wire->answer);
    free(wire);
}

int hf_local_open(const char *name, struct hf_wire **ret)
{
    struct wire *wire = calloc(1, sizeof *wire);
    int          r = HF_ENOMEM;
    if (wire == NULL)
        return HF_ENOMEM;

    wire->base = (struct hf_wire){ .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
                                   .send = wire_send,
                                   .receive = wire_receive,
                                   .quiet = wire_quiet,
                                   .next = wire_next,
                                   .close = wire_close };
    wire->next = HF_NEVER;
    if (wire->base.fd < 0) {
        r = HF_ESTORE;
        goto fail;
    }
    wire->shared = join_shared(name);
    if (wire->shared == NULL)
        goto close_fd;
    *ret = &wire->base;
    return 0;
close_fd:
    close(wire->base.fd);
fail:
    free(wire);
    return r;
}
