/* list.c - LIST: every place in one line, or in all, with copies of its texts. */
#include "store/memory/world.h"

#include "holdfast.h"

#include <stdlib.h>
#include <string.h>

/* Its places, with the queue's own strings.  False: no memory. */
static bool add_queue(struct hf_answer *answer, const struct hf_queue *queue)
{
    for (const struct hf_place *p = queue->first; p != NULL; p = p->next) {
        if (!hf_answer_reserve(answer, answer->count + 1, 0))
            return false;
        answer->ticket[answer->count++] = p->ticket;
    }
    return true;
}

static const char *copy_text(char **to, const char *text)
{
    char *copy = *to;

    *to = stpcpy(copy, text) + 1;
    return copy;
}

static int copy_texts(struct hf_answer *answer)
{
    size_t bytes = 0;

    for (size_t i = 0; i < answer->count; i++)
        bytes += strlen(answer->ticket[i].line) + strlen(answer->ticket[i].note) + 2;
    if (!hf_answer_reserve(answer, answer->count, bytes))
        return HF_ENOMEM;
    char *to = answer->text;
    for (size_t i = 0; i < answer->count; i++) {
        answer->ticket[i].line = copy_text(&to, answer->ticket[i].line);
        answer->ticket[i].note = copy_text(&to, answer->ticket[i].note);
    }
    return 0;
}

static int by_name_and_seq(const void *a, const void *b)
{
    const struct hf_ticket *x = a, *y = b;
    int                     r = strcmp(x->line, y->line);

    return r != 0 ? r : (x->seq > y->seq) - (x->seq < y->seq);
}

int hf_world_list(const struct hf_world *world, const char *name,
                  struct hf_answer *answer)
{
    answer->stamp = world->stamp;
    for (size_t i = 0; i < HF_WORLD_BUCKETS; i++)
        for (const struct hf_queue *q = world->queue[i]; q != NULL; q = q->next)
            if ((name == NULL || strcmp(q->name, name) == 0) && !add_queue(answer, q))
                return HF_ENOMEM;
    if (answer->count > 0)
        qsort(answer->ticket, answer->count, sizeof *answer->ticket, by_name_and_seq);
    return copy_texts(answer);
}
