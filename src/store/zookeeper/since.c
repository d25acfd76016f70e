/* since.c - since when a place is held, for people.
 *
 * A node tells when it was made, which is when its owner queued.  One that had to wait for
 * long writes down when it was granted, in the server's time: "note\nheld=<ms since 1970>".
 */
#include "store/zookeeper/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_MS 1000 /* what is shorter is as good as nothing */

bool hf_zk_since_is_due(const struct hf_zk_ticket *ticket)
{
    return ticket->held_at != 0 && ticket->held_at - ticket->made_at >= LONG_MS * HF_MS;
}

void hf_zk_since_write(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    const struct hf_zk_seen *seen = &zk->seen;

    /* One that was made in a group has not been told when that was. */
    if (ticket->ctime == 0 && (uint64_t)seen->stat.czxid == ticket->token)
        ticket->ctime = seen->stat.ctime;
    int64_t held = ticket->ctime + (ticket->held_at - ticket->made_at) / HF_MS;
    int64_t off = held - seen->stat.ctime;
    char   *text;

    if (ticket->held_at == 0 || ticket->ctime == 0 || (off < LONG_MS && off > -LONG_MS) ||
        memmem(seen->text.bytes, seen->text.size, "\nheld=", 6) != NULL)
        return;
    struct hf_zk_call *call = calloc(1, sizeof *call);
    int                length = asprintf(&text, "%.*s\nheld=%lld", (int)seen->text.size,
                                         seen->text.bytes, (long long)held);
    /* If it fails, people see since when it queued.  If that is because somebody else has
     * written there, we hear of it and try again. */
    if (call != NULL && length >= 0)
        hf_zk_call_set(zk, call, ticket->path, text, (size_t)length, seen->stat.version,
                       hf_zk_ignore, call);
    else
        free(call);
    if (length >= 0)
        free(text);
}

int64_t hf_zk_since_read(const char *text, const struct hf_zk_stat *stat)
{
    const char *held = strstr(text, "\nheld=");
    long long   ms = held != NULL ? strtoll(held + 6, NULL, 10) : 0;

    if (ms <= 0 || ms > INT64_MAX / 1000)
        ms = stat->ctime;
    return ms * 1000;
}
