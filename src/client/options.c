/* options.c - structs of options, whose size the program states. */
#include "client/client.h"

#include <stdio.h>
#include <string.h>

/* No struct of ours will ever be larger: the size was not set. */
#define SIZE_LIMIT 4096

static bool all_zero(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

int hf_options_copy(const void *given, size_t known, const char *init, void *ret,
                    char *errmsg)
{
    size_t size;

    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > SIZE_LIMIT) {
        snprintf(errmsg, HF_ERRMSG_MAX, "options: start from %s", init);
        return HF_EINVAL;
    }
    memcpy(ret, given, size < known ? size : known);
    if (size > known && !all_zero((const unsigned char *)given + known, size - known)) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "options: a member is set that libholdfast %s does not know yet",
                 hf_version());
        return HF_EINVAL;
    }
    return 0;
}

int hf_options_read(const struct hf_options *given, struct hf_options *ret, char *errmsg)
{
    *ret = (struct hf_options)HF_OPTIONS_INIT;
    if (given == NULL)
        return 0;
    int r = hf_options_copy(given, sizeof *ret, "HF_OPTIONS_INIT", ret, errmsg);
    if (r < 0)
        return r;
    const char *fault = NULL;
    if ((ret->flags & ~(unsigned)(HF_NO_KEEPER | HF_INIT | HF_GUARDIAN)) != 0)
        fault = "flags has an unknown flag";
    else if (ret->guardian != NULL && ret->guardian[0] != '/')
        fault = "guardian is not an absolute path, such as /usr/bin/holdfast";
    else if (ret->guardian != NULL && (ret->flags & HF_GUARDIAN) == 0)
        fault = "guardian is set, but not the flag HF_GUARDIAN";
    else if (ret->ttl_ms < 0)
        fault = "ttl_ms is negative";
    if (fault == NULL)
        return 0;
    snprintf(errmsg, HF_ERRMSG_MAX, "options: %s", fault);
    return HF_EINVAL;
}
