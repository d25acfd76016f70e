/* shared.c - worlds by name: a list under one mutex; each world has a mutex of its own.
 *
 * A change of a line rings the eventfd of every store whose session it concerns.
 */
#include "store/memory/memory.h"

#include "base/random.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

static pthread_mutex_t   list_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct hf_shared *list;
static uint64_t          highest_token; /* of worlds that are gone (S5) */

static void ring_bell(void *owner)
{
    (void)!eventfd_write(((struct hf_memory *)owner)->base.fd, 1);
}

static struct hf_shared *shared_new(const char *name)
{
    struct hf_shared *shared = calloc(1, sizeof *shared);
    if (shared == NULL)
        return NULL;
    shared->name = strdup(name);
    if (shared->name == NULL) {
        free(shared);
        return NULL;
    }
    pthread_mutex_init(&shared->mutex, NULL);
    hf_world_init(&shared->world, highest_token);
    /* Session keys of an earlier world of this name must not match any session here. */
    shared->world.number = hf_random() >> 1;
    shared->world.bell = ring_bell;
    shared->next = list;
    return list = shared;
}

struct hf_shared *hf_shared_join(const char *name)
{
    pthread_mutex_lock(&list_mutex);
    struct hf_shared *shared = list;
    while (shared != NULL && strcmp(shared->name, name) != 0)
        shared = shared->next;
    if (shared == NULL)
        shared = shared_new(name);
    if (shared != NULL)
        shared->stores++;
    pthread_mutex_unlock(&list_mutex);
    return shared;
}

void hf_shared_part(struct hf_shared *shared)
{
    pthread_mutex_lock(&list_mutex);
    assert(shared->stores > 0);
    bool last = --shared->stores == 0;
    if (last) {
        struct hf_shared **at = &list;
        while (*at != shared) {
            assert(*at != NULL); /* it stays in the list while a store uses it */
            at = &(*at)->next;
        }
        *at = shared->next;
        if (shared->world.token > highest_token)
            highest_token = shared->world.token;
    }
    pthread_mutex_unlock(&list_mutex);
    if (!last)
        return;
    assert(shared->world.sessions == NULL);
    pthread_mutex_destroy(&shared->mutex);
    free(shared->name);
    free(shared);
}
