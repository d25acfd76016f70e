/* line.c - the folder of a lock, as last listed (see listing.c), and the places in it that we
 * listen to.
 *
 * Between listings we only mark what ended.  One listener, an ear, serves all of our waiters
 * behind a place.  It goes with the place, or with the last place that we have in the line.
 * Our own places need none.
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
    hf_zk_ears_drop(zk, line);
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

size_t hf_zk_line_own(const struct hf_zk_line *line, const struct hf_zk_ticket *ticket)
{
    size_t i = 0;

    while (i < line->count && !hf_zk_child_is(line->place[i].name,
                                              strlen(line->place[i].name), ticket->uuid))
        i++;
    return i;
}

/* Tell our waiters behind it.  One with so much between that it hears does not depend on
 * this place. */
static void review_behind(struct hf_zk *zk, struct hf_zk_line *line, size_t index)
{
    uint64_t weight = 0;

    if (line->tickets == NULL)
        return;
    const struct hf_shape mine = line->tickets->shape;
    for (size_t i = index + 1; i < line->count && weight / 2 < mine.capacity; i++) {
        const struct hf_zk_place *place = &line->place[i];
        if (place->state != HF_ZK_STANDS)
            continue;
        if (place->ticket != NULL || place->ear != NULL)
            weight += hf_zk_shape_to(&place->child, &mine).weight;
        if (place->ticket != NULL)
            hf_zk_wait_review(zk, place->ticket);
    }
}

void hf_zk_line_ended(struct hf_zk *zk, struct hf_zk_line *line, size_t index)
{
    assert(index < line->count && line->place[index].ear == NULL);
    if (line->place[index].state != HF_ZK_STANDS)
        return;
    hf_zk_place_end(&line->place[index]);
    line->stale = true;
    while (line->head < line->count && line->place[line->head].state == HF_ZK_GONE)
        line->head++;
    review_behind(zk, line, index);
}

/* ---- Ears -------------------------------------------------------------------------------- */

/* The index of its place; line->count: that is not listed. */
static size_t ear_place(const struct hf_zk_ear *ear)
{
    const struct hf_zk_line *line = ear->line;
    size_t                   i = hf_zk_line_find(line, ear->seq);

    while (i < line->count && line->place[i].ear != ear)
        i++;
    return i;
}

static void ear_free(struct hf_zk *zk, struct hf_zk_ear *ear, bool goes)
{
    struct hf_zk_line *line = ear->line;
    struct hf_zk_ear **at = &line->ears;
    size_t             index = ear_place(ear);

    while (*at != ear) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = ear->next;
    if (index < line->count)
        line->place[index].ear = NULL;
    hf_zk_unlisten(zk, &ear->listener, goes);
    free(ear);
}

void hf_zk_ears_drop(struct hf_zk *zk, struct hf_zk_line *line)
{
    while (line->ears != NULL)
        ear_free(zk, line->ears, false);
    hf_zk_unlisten(zk, &line->listener, false);
}

static void on_ear_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                        enum hf_zk_news news)
{
    struct hf_zk_ear  *ear = listener->data;
    struct hf_zk_line *line = ear->line;
    size_t             index = ear_place(ear);

    if (news == HF_ZK_NEWS_ARMED || news == HF_ZK_NEWS_READ ||
        (news == HF_ZK_NEWS_CHANGED &&
         hf_zk_listen(zk, listener, zk->seen.path, HF_ZK_ITS_END) == 0))
        return;
    assert(index < line->count); /* it goes with its place */
    ear_free(zk, ear, true);
    if (news == HF_ZK_NEWS_GONE) {
        hf_zk_line_ended(zk, line, index);
        return;
    }
    line->stale = true; /* without memory to listen on, or hidden */
    if (news == HF_ZK_NEWS_HIDDEN) {
        line->hidden = true;
        while (line->ears != NULL) /* more of them may be */
            ear_free(zk, line->ears, false);
    }
    hf_zk_wait_review_all(zk, line);
}

int hf_zk_line_hear(struct hf_zk *zk, struct hf_zk_line *line, size_t index)
{
    struct hf_zk_place *place = &line->place[index];

    assert(place->state == HF_ZK_STANDS);
    if (place->ear != NULL || place->ticket != NULL)
        return 0;
    struct hf_zk_ear *ear = calloc(1, sizeof *ear);
    char             *path = hf_zk_path_new(line, place->name);
    int               r = HF_ENOMEM;
    if (ear != NULL && path != NULL) {
        ear->listener.on_news = on_ear_news;
        ear->listener.data = ear;
        r = hf_zk_listen(zk, &ear->listener, path, HF_ZK_ITS_END);
    }
    free(path);
    if (r < 0) {
        free(ear);
        return r;
    }
    ear->line = line;
    ear->seq = place->seq;
    ear->next = line->ears;
    line->ears = place->ear = ear;
    return 0;
}

/* A writer that became a reader has another node of the same number. */
static bool is_ear_of(const struct hf_zk_ear *ear, const struct hf_zk_place *place)
{
    const char *path = hf_zk_listener_path(&ear->listener);

    return strcmp(path + strlen(ear->line->folder) + 1, place->name) == 0;
}

void hf_zk_ears_match(struct hf_zk *zk, struct hf_zk_line *line)
{
    for (struct hf_zk_ear *ear = line->ears, *next; ear != NULL; ear = next) {
        next = ear->next;
        size_t i = hf_zk_line_find(line, ear->seq);
        while (i < line->count && line->place[i].seq == ear->seq &&
               !is_ear_of(ear, &line->place[i]))
            i++;
        if (i < line->count && line->place[i].seq == ear->seq &&
            line->place[i].ticket == NULL)
            line->place[i].ear = ear;
        else
            ear_free(zk, ear, true); /* it has gone, or is ours */
    }
}

/* ---- The folder -------------------------------------------------------------------------- */

static void on_folder_news(struct hf_zk *zk, struct hf_zk_listener *listener,
                           enum hf_zk_news news)
{
    struct hf_zk_line *line = listener->data;

    if (news == HF_ZK_NEWS_ARMED)
        return;
    line->stale = true;
    hf_zk_wait_review_all(zk, line);
}

int hf_zk_line_hear_all(struct hf_zk *zk, struct hf_zk_line *line)
{
    if (line->listener.watched != NULL)
        return 0;
    line->listener.on_news = on_folder_news;
    line->listener.data = line;
    return hf_zk_listen_folder(zk, &line->listener, line->folder, line->stamp);
}
