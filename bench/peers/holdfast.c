/* holdfast.c - the scenarios with Holdfast's locks, on any store.
 *
 *     holdfast URL FILE|first
 */
#include "bench/common.h"
#include "bench/crowd.h"
#include "bench/scene.h"

#include <string.h>

struct holder {
    struct hf_client *client;
    struct hf_lock   *lock[2]; /* for readers and writers: one of each */
    bool     eager; /* alternating: the other is released by the time it is needed */
    unsigned turns;
    uint64_t token;
};

static const char       *url;
static struct hf_client *sessions[SCENE_SESSIONS];

static void *join(const struct seat *seat)
{
    struct holder *h = calloc(1, sizeof *h);

    must(h != NULL && seat->session < SCENE_SESSIONS, "so many sessions");
    if (sessions[seat->session] == NULL)
        sessions[seat->session] = open_client(url, 0);
    h->client = sessions[seat->session];
    h->eager = seat->eager;
    if (seat->readers) {
        must_hf(hf_reader(h->client, seat->lock, &h->lock[0]), "hf_reader", h->client);
        must_hf(hf_writer(h->client, seat->lock, &h->lock[1]), "hf_writer", h->client);
        return h;
    }
    for (int i = 0; i < 1 + h->eager; i++)
        must_hf(hf_mutex(h->client, seat->lock, &h->lock[i]), "hf_mutex", h->client);
    return h;
}

static struct hf_lock *lock_of(const struct holder *h, bool write)
{
    if (h->eager)
        return h->lock[h->turns % 2];
    return h->lock[1] != NULL ? h->lock[write] : h->lock[0];
}

static void take(void *me, bool write)
{
    struct holder  *h = me;
    struct hf_lock *lock = lock_of(h, write);

    must_hf(hf_acquire(lock, PATIENCE_MS), "hf_acquire", h->client);
    must(hf_token(lock) > h->token, "ascending token");
    h->token = hf_token(lock);
}

static void give(void *me, bool write)
{
    struct holder  *h = me;
    struct hf_lock *lock = lock_of(h, write);

    must_hf(h->eager ? hf_release_start(lock) : hf_release(lock), "hf_release",
            h->client);
    h->turns++;
}

static void leave(void *me)
{
    struct holder *h = me;

    hf_lock_free(h->lock[0]);
    hf_lock_free(h->lock[1]);
    free(h);
}

static unsigned long special(const struct scene *scene, double size, double *seconds)
{
    return scene->number == 4   ? crowd_drain(url, scene->count)
           : scene->number == 7 ? crowd_idle(url, scene->count)
                                : crowd_pass(url, scene->count, (size_t)size, seconds);
}

static const struct way holdfast = { join, take, give, leave, special, false };

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s URL FILE|first\n", argv[0]);
        return 2;
    }
    url = argv[1];
    int r = scene_main(&holdfast, argv[2]);
    for (size_t i = 0; i < SCENE_SESSIONS; i++)
        hf_close(sessions[i]);
    return r;
}
