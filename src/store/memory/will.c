/* will.c - what a will in the memory store says: which session, of which process.
 *
 * No two sessions have the same number (shared.c).  The process is named, too: in another one
 * the session is not there, though it may be alive.
 */
#include "store/memory/memory.h"

#include "holdfast.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct will {
    uint64_t session;
    uint64_t pid;
};

int hf_memory_will(struct hf_store *store, void *ret)
{
    struct hf_memory *memory = (struct hf_memory *)store;
    struct will       will = { .pid = (uint64_t)getpid() };

    assert(memory->executes == 0 && sizeof will <= HF_WILL_MAX);
    pthread_mutex_lock(&memory->shared->mutex);
    will.session = memory->session.number;
    pthread_mutex_unlock(&memory->shared->mutex);
    if (will.session == 0)
        return 0;
    memcpy(ret, &will, sizeof will);
    return sizeof will;
}

int hf_memory_will_read(const struct hf_config *config, char *errmsg, uint64_t *ret)
{
    struct will will = { 0 };

    if (config->will == NULL) {
        *ret = 0;
        return 0;
    }
    if (config->will_size == sizeof will)
        memcpy(&will, config->will, sizeof will);
    if (will.session == 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "the will is not one of memory:");
        return HF_EINVAL;
    }
    if (will.pid != (uint64_t)getpid()) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "the will is of another process, and so is its memory:%.100s",
                 config->rest);
        return HF_EUNSUPPORTED;
    }
    *ret = will.session;
    return 0;
}
