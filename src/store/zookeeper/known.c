/* known.c - what is known of lines from one turn of ours to the next; see alone.c and pair.c.
 */
#include "store/zookeeper/inner.h"

#include <stdlib.h>
#include <string.h>

static struct hf_zk_known **known_slot(struct hf_zk *zk, const char *name)
{
    return &zk->known[hf_zk_hash(name, strlen(name)) % HF_ZK_KNOWN];
}

struct hf_zk_known *hf_zk_known_find(struct hf_zk *zk, const struct hf_zk_line *line)
{
    struct hf_zk_known *known = *known_slot(zk, line->name);

    return known != NULL && strcmp(known->name, line->name) == 0 ? known : NULL;
}

/* Another line of the same slot makes way. */
struct hf_zk_known *hf_zk_known_get(struct hf_zk *zk, const struct hf_zk_line *line)
{
    struct hf_zk_known **slot = known_slot(zk, line->name);
    struct hf_zk_known  *known = hf_zk_known_find(zk, line);
    size_t               size = strlen(line->name) + 1;

    if (known != NULL)
        return known;
    known = calloc(1, sizeof *known + size);
    if (known == NULL)
        return NULL;
    memcpy(known->name, line->name, size);
    free(*slot);
    return *slot = known;
}

void hf_zk_known_listed(struct hf_zk *zk, const struct hf_zk_ticket *ticket)
{
    const struct hf_zk_line *line = ticket->line;
    struct hf_zk_known      *known =
        line->count > 2 ? hf_zk_known_find(zk, line) : hf_zk_known_get(zk, line);

    if (known == NULL)
        return;
    hf_zk_alone_listed(&known->alone, ticket);
    hf_zk_pair_listed(&known->pair, ticket);
}

void hf_zk_known_drop(struct hf_zk *zk)
{
    for (size_t i = 0; i < HF_ZK_KNOWN; i++) {
        free(zk->known[i]);
        zk->known[i] = NULL;
    }
}
