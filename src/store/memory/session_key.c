/* session_key.c - a session key of the memory store: the number of the session, and its
 * process.
 *
 * No two sessions have the same number (shared.c).  The key names the process, too:
 * another process does not have the session, though it may be alive.
 */
#include "store/memory/memory.h"

#include "holdfast.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct key {
    uint64_t session;
    uint64_t pid;
};

int hf_memory_session_key(struct hf_store *store, void *ret)
{
    struct hf_memory *memory = (struct hf_memory *)store;
    struct key        key = { .pid = (uint64_t)getpid() };

    assert(memory->ends_session == 0 && sizeof key <= HF_SESSION_KEY_MAX);
    pthread_mutex_lock(&memory->shared->mutex);
    key.session = memory->session.number;
    pthread_mutex_unlock(&memory->shared->mutex);
    if (key.session == 0)
        return 0;
    memcpy(ret, &key, sizeof key);
    return sizeof key;
}

int hf_memory_session_key_read(const struct hf_config *config, char *errmsg,
                               uint64_t *ret)
{
    struct key key = { 0 };

    if (config->key == NULL) {
        *ret = 0;
        return 0;
    }
    if (config->key_size == sizeof key)
        memcpy(&key, config->key, sizeof key);
    if (key.session == 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "the session key is not one of memory:");
        return HF_EINVAL;
    }
    if (key.pid != (uint64_t)getpid()) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "the session key is of another process, and so is its memory:%.100s",
                 config->rest);
        return HF_EUNSUPPORTED;
    }
    *ret = key.session;
    return 0;
}
