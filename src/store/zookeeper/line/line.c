/* line.c - the folder of a lock, as last listed (listing.c), and the places in it that
 * we listen to.
 *
 * Between listings we only record which places ended.  One listener serves all of our
 * waiters behind a place.  It is freed with the place, or when we have no place in the
 * line any more.  Our own places need no listener.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lines by name ------------------------------------------------------------------ */

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
    assert(line->own == NULL);
    assert(line->wanting == NULL && !line->queued);

    struct hf_zk_line **at = &zk->line[hf_zk_hash(line->name, strlen(line->name))];
    while (*at != line) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = line->next;
    hf_zk_line_unlisten(zk, line);
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

    assert(size > 0 && size < HF_ZK_PATH_MAX); /* our own names fit */
    (void)size;
}

char *hf_zk_path_new(const struct hf_zk_line *line, const char *child)
{
    char *path;

    return asprintf(&path, "%s/%s", line->folder, child) < 0 ? NULL : path;
}

/* ---- Places ------------------------------------------------------------------------- */

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

size_t hf_zk_line_find_own(const struct hf_zk_line *line, const struct hf_zk_own *own)
{
    size_t i = 0;

    while (i < line->count &&
           !hf_zk_child_is(line->place[i].name, strlen(line->place[i].name), own->uuid))
        i++;
    return i;
}

/* Review our waiters behind it.  A waiter does not depend on this place if the heard
 * places in between weigh enough. */
static void review_behind(struct hf_zk *zk, struct hf_zk_line *line, size_t index)
{
    uint64_t weight = 0;

    if (line->own == NULL)
        return;
    const struct hf_shape mine = line->own->shape;
    for (size_t i = index + 1; i < line->count && weight / 2 < mine.capacity; i++) {
        const struct hf_zk_place *place = &line->place[i];
        if (place->state != HF_ZK_STANDS)
            continue;
        if (place->own != NULL || place->listener != NULL)
            weight += hf_zk_shape_to(&place->child, &mine).weight;
        if (place->own != NULL)
            hf_zk_wait_review(zk, place->own);
    }
}

void hf_zk_line_place_ended(struct hf_zk *zk, struct hf_zk_line *line, size_t index)
{
    assert(index < line->count && line->place[index].listener == NULL);
    if (line->place[index].state != HF_ZK_STANDS)
        return;
    hf_zk_place_end(&line->place[index]);
    line->stale = true;
    while (line->head < line->count && line->place[line->head].state == HF_ZK_GONE)
        line->head++;
    review_behind(zk, line, index);
}

/* ---- Listeners ---------------------------------------------------------------------- */

/* The index of its place; line->count: it is not in the listing. */
static size_t listener_index(const struct hf_zk_place_listener *listener)
{
    const struct hf_zk_line *line = listener->line;
    size_t                   i = hf_zk_line_find(line, listener->seq);

    while (i < line->count && line->place[i].listener != listener)
        i++;
    return i;
}

static void listener_free(struct hf_zk *zk, struct hf_zk_place_listener *listener,
                          bool node_deleted)
{
    struct hf_zk_line            *line = listener->line;
    struct hf_zk_place_listener **at = &line->listeners;
    size_t                        index = listener_index(listener);

    while (*at != listener) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = listener->next;
    if (index < line->count)
        line->place[index].listener = NULL;
    hf_zk_unlisten(zk, &listener->base, node_deleted);
    free(listener);
}

void hf_zk_line_unlisten(struct hf_zk *zk, struct hf_zk_line *line)
{
    while (line->listeners != NULL)
        listener_free(zk, line->listeners, false);
    hf_zk_unlisten(zk, &line->folder_listener, false);
}

static void on_place_news(struct hf_zk *zk, struct hf_zk_listener *base,
                          enum hf_zk_news news)
{
    struct hf_zk_place_listener *listener = base->data;
    struct hf_zk_line           *line = listener->line;
    size_t                       index = listener_index(listener);

    if (news == HF_ZK_NEWS_SET || news == HF_ZK_NEWS_READ ||
        (news == HF_ZK_NEWS_CHANGED &&
         hf_zk_listen(zk, base, zk->seen.path, HF_ZK_ITS_END) == 0))
        return;
    assert(index < line->count); /* it is freed with its place */
    listener_free(zk, listener, true);
    if (news == HF_ZK_NEWS_GONE) {
        hf_zk_line_place_ended(zk, line, index);
        return;
    }
    line->stale = true; /* no memory to listen again, or unreadable */
    if (news == HF_ZK_NEWS_UNREADABLE) {
        line->unreadable = true;
        while (line->listeners != NULL) /* others may be unreadable, too */
            listener_free(zk, line->listeners, false);
    }
    hf_zk_wait_review_all(zk, line);
}

int hf_zk_line_listen_to(struct hf_zk *zk, struct hf_zk_line *line, size_t index)
{
    struct hf_zk_place *place = &line->place[index];

    assert(place->state == HF_ZK_STANDS);
    if (place->listener != NULL || place->own != NULL)
        return 0;
    struct hf_zk_place_listener *listener = calloc(1, sizeof *listener);
    char                        *path = hf_zk_path_new(line, place->name);
    int                          r = HF_ENOMEM;
    if (listener != NULL && path != NULL) {
        listener->base.on_news = on_place_news;
        listener->base.data = listener;
        r = hf_zk_listen(zk, &listener->base, path, HF_ZK_ITS_END);
    }
    free(path);
    if (r < 0) {
        free(listener);
        return r;
    }
    listener->line = line;
    listener->seq = place->seq;
    listener->next = line->listeners;
    line->listeners = place->listener = listener;
    return 0;
}

/* After a downgrade the place has another node with the same number. */
static bool is_listener_of(const struct hf_zk_place_listener *listener,
                           const struct hf_zk_place          *place)
{
    const char *path = hf_zk_listener_path(&listener->base);

    return strcmp(path + strlen(listener->line->folder) + 1, place->name) == 0;
}

void hf_zk_line_match_listeners(struct hf_zk *zk, struct hf_zk_line *line)
{
    for (struct hf_zk_place_listener *listener = line->listeners, *next; listener != NULL;
         listener = next) {
        next = listener->next;
        size_t i = hf_zk_line_find(line, listener->seq);
        while (i < line->count && line->place[i].seq == listener->seq &&
               !is_listener_of(listener, &line->place[i]))
            i++;
        if (i < line->count && line->place[i].seq == listener->seq &&
            line->place[i].own == NULL)
            line->place[i].listener = listener;
        else
            listener_free(zk, listener, true); /* it is gone, or is ours */
    }
}

/* ---- The folder --------------------------------------------------------------------- */

static void on_folder_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                           enum hf_zk_news news)
{
    struct hf_zk_line *line = listener->data;

    if (news == HF_ZK_NEWS_SET)
        return;
    line->stale = true;
    hf_zk_wait_review_all(zk, line);
}

int hf_zk_line_listen_to_folder(struct hf_zk *zk, struct hf_zk_line *line)
{
    if (line->folder_listener.watched != NULL)
        return 0;
    line->folder_listener.on_news = on_folder_news;
    line->folder_listener.data = line;
    return hf_zk_listen_folder(zk, &line->folder_listener, line->folder, line->stamp);
}
