/* marks.c - see marks.h. */
#include "store/zookeeper/marks.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hf_zk_mark {
    struct hf_zk_mark *next; /* in its bucket */
    unsigned           set;  /* never 0 */
    char               name[];
};

static size_t mark_bucket(const char *name)
{
    uint32_t hash = 2166136261u;

    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash % HF_ZK_MARK_BUCKETS;
}

static struct hf_zk_mark *find_mark(const struct hf_zk_marks *marks, const char *name)
{
    struct hf_zk_mark *mark = marks->bucket[mark_bucket(name)];

    while (mark != NULL && strcmp(mark->name, name) != 0)
        mark = mark->next;
    return mark;
}

static struct hf_zk_mark *mark_new(struct hf_zk_marks *marks, const char *name)
{
    size_t             size = strlen(name) + 1;
    struct hf_zk_mark *mark = calloc(1, sizeof *mark + size);
    if (mark == NULL)
        return NULL;

    struct hf_zk_mark **bucket = &marks->bucket[mark_bucket(name)];
    memcpy(mark->name, name, size);
    mark->next = *bucket;
    *bucket = mark;
    return mark;
}

static void change_mark(struct hf_zk_marks *marks, struct hf_zk_mark *mark, unsigned set)
{
    marks->changed += (set & HF_ZK_MARK_CHANGED) != 0;
    marks->changed -= (mark->set & HF_ZK_MARK_CHANGED) != 0;
    marks->hidden += (set & HF_ZK_MARK_HIDDEN) != 0;
    marks->hidden -= (mark->set & HF_ZK_MARK_HIDDEN) != 0;
    mark->set = set;
}

/* Free those in a bucket that have no mark any more. */
static void sweep_bucket(struct hf_zk_mark **at)
{
    while (*at != NULL) {
        struct hf_zk_mark *mark = *at;
        if (mark->set != 0) {
            at = &mark->next;
            continue;
        }
        *at = mark->next;
        free(mark);
    }
}

bool hf_zk_mark(struct hf_zk_marks *marks, const char *name, unsigned mark, bool set)
{
    struct hf_zk_mark *found = find_mark(marks, name);

    assert(mark != 0);
    if (found == NULL && !set)
        return true;
    if (found == NULL)
        found = mark_new(marks, name);
    if (found == NULL)
        return false;
    change_mark(marks, found, set ? found->set | mark : found->set & ~mark);
    if (found->set == 0)
        sweep_bucket(&marks->bucket[mark_bucket(name)]);
    return true;
}

bool hf_zk_is_marked(const struct hf_zk_marks *marks, const char *name, unsigned mark)
{
    const struct hf_zk_mark *found = find_mark(marks, name);

    return found != NULL && (found->set & mark) != 0;
}

void hf_zk_marks_spread(struct hf_zk_marks *marks)
{
    for (size_t i = 0; i < HF_ZK_MARK_BUCKETS; i++)
        for (struct hf_zk_mark *mark = marks->bucket[i]; mark != NULL; mark = mark->next)
            if ((mark->set & HF_ZK_MARK_HIDDEN) != 0)
                change_mark(marks, mark, mark->set | HF_ZK_MARK_CHANGED);
}

const char **hf_zk_marks_changed(const struct hf_zk_marks *marks)
{
    const char **names = calloc(marks->changed + 1, sizeof *names);
    size_t       count = 0;

    for (size_t i = 0; i < HF_ZK_MARK_BUCKETS && names != NULL; i++)
        for (struct hf_zk_mark *mark = marks->bucket[i]; mark != NULL; mark = mark->next)
            if ((mark->set & HF_ZK_MARK_CHANGED) != 0)
                names[count++] = mark->name;
    assert(names == NULL || count == marks->changed);
    return names;
}

void hf_zk_marks_clear(struct hf_zk_marks *marks, unsigned which)
{
    for (size_t i = 0; i < HF_ZK_MARK_BUCKETS; i++) {
        for (struct hf_zk_mark *mark = marks->bucket[i]; mark != NULL; mark = mark->next)
            change_mark(marks, mark, mark->set & ~which);
        sweep_bucket(&marks->bucket[i]);
    }
}
