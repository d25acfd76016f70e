/* answer.c - the answers of functions, each one text; see call.h. */
#include "store/mariadb/inner.h"

#include <stdlib.h>
#include <string.h>

#define WORDS 8 /* at most; the last may have blanks */

const char *hf_maria_text(const struct hf_my_reply *reply, size_t index)
{
    if (hf_my_columns(reply, 0) != 1)
        return hf_my_text(reply, 0, index);
    const char *at = index < WORDS ? hf_my_text(reply, 0, 0) : NULL;
    for (; at != NULL && index > 0; index--) {
        at = strchr(at, ' ');
        at += at != NULL;
    }
    return at;
}

int64_t hf_maria_number(const struct hf_my_reply *reply, size_t index)
{
    const char *text = hf_maria_text(reply, index);

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

const char *hf_maria_item(const struct hf_my_reply *reply, size_t index)
{
    const char *at = hf_my_text(reply, 0, 0);
    const char *end = at + (at != NULL ? hf_my_size(reply, 0, 0) : 0);

    for (; at != NULL && at < end; index--) {
        at += strlen(at) + 1; /* a NUL follows the last one, too */
        if (index == 0)
            return at <= end ? at : NULL;
    }
    return NULL;
}
