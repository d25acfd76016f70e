/* line.c - the folder of a lock, as last listed (see listing.c).
 *
 * Between listings we only mark places as gone.  In a line of mutexes that is enough to
 * know when we are granted: numbers rise, so nobody joins ahead of us, and the part ahead
 * can only shrink.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lines by name --------------------------------------------------------------------- */

static struct hf_zk_line *line_new(struct hf_zk *zk, const char *name)
{
    char folder[HF_ZK_FOLDER_MAX];

    struct hf_zk_line *line = calloc(1, sizeof *line);
    if (line == NULL)
        return NULL;
    hf_zk_folder(name, folder);
    line->name = strdup(name);
    if (asprintf(&line->folder, "%s/%s", zk->config.chroot, folder) < 0)
        line->folder = NULL;
    if (line->name == NULL || line->folder == NULL) {
        free(line->name);
        free(line->folder);
        free(line);
        return NULL;
    }
    return line;
}

struct hf_zk_line *hf_zk_line_get(struct hf_zk *zk, const char *name)
{
    struct hf_zk_line **bucket = &zk->line[hf_zk_hash(name, strlen(name))];
    struct hf_zk_line  *line = *bucket;

    while (line != NULL && strcmp(line->name, name) != 0)
        line = line->next;
    if (line == NULL && (line = line_new(zk, name)) != NULL) {
        line->next = *bucket;
        *bucket = line;
    }
    if (line != NULL)
        line->users++;
    return line;
}

void hf_zk_line_put(struct hf_zk *zk, struct hf_zk_line *line)
{
    assert(line->users > 0);
    if (--line->users > 0)
        return;
    assert(line->tickets == NULL); /* all that use it are users */
    assert(line->wanting == NULL && !line->queued);

    struct hf_zk_line **at = &zk->line[hf_zk_hash(line->name, strlen(line->name))];
    while (*at != line) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = line->next;
    free(line->place);
    free(line->text);
    free(line->slot);
    free(line->name);
    free(line->folder);
    free(line);
}

void hf_zk_path(const struct hf_zk_line *line, const char *child, char *ret)
{
    int size = snprintf(ret, HF_ZK_PATH_MAX, "%s/%s", line->folder, child);

    assert(size > 0 && size < HF_ZK_PATH_MAX); /* names of ours fit */
    (void)size;
}

char *hf_zk_path_new(const struct hf_zk_line *line, const char *child)
{
    char *path;

    return asprintf(&path, "%s/%s", line->folder, child) < 0 ? NULL : path;
}

/* ---- Places ------------------------------------------------------------------------------ */

size_t hf_zk_line_find(const struct hf_zk_line *line, uint64_t seq)
{
    size_t low = 0, high = line->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (line->place[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low < line->count && line->place[low].seq == seq ? low : line->count;
}

size_t hf_zk_line_before(const struct hf_zk_line *line, size_t index)
{
    assert(index <= line->count && line->head <= line->count);
    while (index-- > line->head)
        if (!line->place[index].gone)
            return index;
    return line->count;
}

size_t hf_zk_line_own(const struct hf_zk_line *line, const struct hf_zk_ticket *ticket)
{
    size_t i = 0;

    while (i < line->count && !hf_zk_child_is(line->place[i].name,
                                              strlen(line->place[i].name), ticket->uuid))
        i++;
    return i;
}

static void review_ticket(struct hf_zk *zk, struct hf_zk_ticket *ticket)
{
    if (ticket != NULL && ticket->watch != NULL)
        hf_zk_watch_review(zk, ticket);
}

/* Where nobody is ahead and only our own places follow, those must listen to their nodes
 * before they are granted: many at a time, in one call.  Which of them are to begin now? */
static int begin_from(struct hf_zk_ticket *const *behind, int count)
{
    static const int at[] = { 2, HF_ZK_READY_AHEAD / 2 };

    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        if (at[i] < count && behind[at[i]] != NULL && behind[at[i]]->self.watched == NULL)
            return at[i];
    return count;
}

/* A WATCH in a line of mutexes that depends on the place that has gone, and may not listen to
 * it, is at most two behind it. */
static void review_behind(struct hf_zk *zk, struct hf_zk_line *line, size_t index)
{
    struct hf_zk_ticket *behind[HF_ZK_READY_AHEAD];
    bool                 first = hf_zk_line_before(line, index) == line->count;
    int                  count = 0;

    for (size_t i = index + 1; i < line->count && count < (first ? HF_ZK_READY_AHEAD : 2);
         i++) {
        if (line->place[i].gone)
            continue;
        behind[count++] = line->place[i].ticket;
        if (count > 2 && behind[count - 1] == NULL)
            break;
    }
    for (int i = 0; i < 2 && i < count; i++)
        review_ticket(zk, behind[i]);
    for (int i = begin_from(behind, count); i < count; i++)
        review_ticket(zk, behind[i]);
}

/* kazoo's names do not tell a writer from a mutex. */
static bool may_be_writer(const struct hf_zk_place *place)
{
    if (place->child.style == HF_ZK_KAZOO && place->child.shape.capacity == 1)
        return place->ticket == NULL || place->ticket->shape.capacity != 1;
    return place->child.shape.weight == HF_ALL;
}

void hf_zk_line_gone(struct hf_zk *zk, struct hf_zk_line *line, size_t index)
{
    assert(index < line->count);
    if (line->place[index].gone)
        return;
    line->place[index].gone = true;
    if (may_be_writer(&line->place[index]))
        line->writer_gone = true;
    line->place[index].ticket = NULL;
    while (line->head < line->count && line->place[line->head].gone)
        line->head++;
    review_behind(zk, line, index);
}
