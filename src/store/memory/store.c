/* store.c - memory stores by URL. */
#include "store/memory/client.h"

#include "holdfast.h"
#include "store/memory/local.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* "lease" in milliseconds, 0 if it is not asked for. */
static int parse_lease(const struct hf_config *config, char *errmsg, hf_time *ret)
{
    const char *text = hf_config_get(config, "lease");
    char       *end;

    if (text == NULL) {
        *ret = 0;
        return 0;
    }
    errno = 0;
    long ms = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || ms < 1 || ms > 86400000) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "store URL: lease=%s is not a number of milliseconds, 1 to 86400000",
                 text);
        return HF_EINVAL;
    }
    *ret = ms * HF_MS;
    return 0;
}

static int open_url(const struct hf_config *config, char *errmsg, struct hf_store **ret)
{
    struct hf_wire *wire;
    uint64_t        ended; /* 0, or the session that a will ends */
    hf_time         lease;

    int r = parse_lease(config, errmsg, &lease);
    if (r == 0)
        r = hf_memory_will_read(config, errmsg, &ended);
    if (r < 0)
        return r;
    r = hf_local_open(config->rest, &wire);
    if (r < 0)
        goto fail;
    r = hf_memory_open(wire, lease, config->seed, ret);
    if (r == 0) {
        ((struct hf_memory *)*ret)->session = ended;
        ((struct hf_memory *)*ret)->executes = ended != 0;
        return 0;
    }
    wire->close(wire);
fail:
    snprintf(errmsg, HF_ERRMSG_MAX, "memory:%s cannot be opened: %s", config->rest,
             hf_strerror(r));
    return r;
}

static const char *const params[] = { "lease", NULL };

const struct hf_store_impl hf_memory_store = {
    .scheme = "memory",
    .surveys = true,
    .params = params,
    .open = open_url,
    .close = hf_memory_close,
    .submit = hf_memory_submit,
    .cancel = hf_memory_cancel,
    .process = hf_memory_process,
    .will = hf_memory_will,
};
