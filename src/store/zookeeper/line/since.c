/* since.c - since when a place has been held, for people.
 *
 * A node shows when it was created, which is when its owner queued.  A holder that
 * waited for long writes down when it was granted the lock, by the server's clock:
 * "note\nheld=<ms since 1970>".
 */
#include "store/zookeeper/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_MS 1000 /* a shorter wait does not matter */

bool hf_zk_since_is_due(const struct hf_zk_own *own)
{
    return own->held_at != 0 && own->held_at - own->made_at >= LONG_MS * HF_MS;
}

/* A time in ms as a server sends it, or 0 if it cannot be one. */
static int64_t read_ms(int64_t ms)
{
    return ms > 0 && ms <= INT64_MAX / 1000 ? ms : 0;
}

void hf_zk_since_write(struct hf_zk *zk, struct hf_zk_own *own)
{
    const struct hf_zk_seen *seen = &zk->seen;

    /* A place that was created in a group does not know its ctime yet. */
    if (own->ctime == 0 && (uint64_t)seen->stat.czxid == own->token)
        own->ctime = seen->stat.ctime;
    int64_t made = read_ms(own->ctime);
    int64_t held = made + (own->held_at - own->made_at) / HF_MS;
    int64_t off = held - read_ms(seen->stat.ctime);
    char   *text;

    if (own->held_at == 0 || made == 0 || (off < LONG_MS && off > -LONG_MS) ||
        memmem(seen->text.bytes, seen->text.size, "\nheld=", 6) != NULL)
        return;
    struct hf_zk_call *call = calloc(1, sizeof *call);
    int                length = asprintf(&text, "%.*s\nheld=%lld", (int)seen->text.size,
                                         seen->text.bytes, (long long)held);
    /* If this fails, people see since when it has queued.  If it fails because somebody
     * else wrote there, we hear of that and try again. */
    if (call != NULL && length >= 0)
        hf_zk_call_set(zk, call, own->path, text, (size_t)length, seen->stat.version,
                       hf_zk_ignore, call);
    else
        free(call);
    if (length >= 0)
        free(text);
}

int64_t hf_zk_since_read(const char *text, const struct hf_zk_stat *stat)
{
    const char *held = strstr(text, "\nheld=");
    int64_t     ms = held != NULL ? read_ms(strtoll(held + 6, NULL, 10)) : 0;

    return (ms != 0 ? ms : read_ms(stat->ctime)) * 1000;
}
