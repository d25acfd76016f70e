/* list.c - LIST: every place in one line, or in all, with its texts. */
#include "store/memory/world.h"

#include "holdfast.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Visit every place asked for: all lines, or the one of that name. */
static void each_place(const struct hf_world *world, const char *name,
                       void (*visit)(struct hf_answer *, const struct hf_place *),
                       struct hf_answer *answer)
{
    for (size_t i = 0; i < HF_WORLD_BUCKETS; i++)
        for (const struct hf_queue *q = world->queue[i]; q != NULL; q = q->next)
            if (name == NULL || strcmp(q->name, name) == 0)
                for (const struct hf_place *p = q->first; p != NULL; p = p->next)
                    visit(answer, p);
}

static void measure_place(struct hf_answer *answer, const struct hf_place *place)
{
    answer->count++;
    answer->me += strlen(place->queue->name) + strlen(place->note) + 2;
}

static const char *copy_text(struct hf_answer *answer, const char *text)
{
    char  *to = answer->text + answer->me;
    size_t size = strlen(text) + 1;

    assert(answer->me + size <= answer->text_room); /* measured before */
    memcpy(to, text, size);
    answer->me += size;
    return to;
}

static void copy_place(struct hf_answer *answer, const struct hf_place *place)
{
    assert(answer->count < answer->room);
    struct hf_ticket *ticket = &answer->ticket[answer->count++];

    *ticket = place->ticket;
    ticket->line = copy_text(answer, place->queue->name);
    ticket->note = copy_text(answer, place->note);
}

static int by_name_and_seq(const void *a, const void *b)
{
    const struct hf_ticket *x = a, *y = b;
    int                     r = strcmp(x->line, y->line);

    return r != 0 ? r : (x->seq > y->seq) - (x->seq < y->seq);
}

/* While it is made, `me` counts the bytes of text. */
int hf_world_list(const struct hf_world *world, const char *name,
                  struct hf_answer *answer)
{
    answer->stamp = world->stamp;
    answer->count = answer->me = 0;
    each_place(world, name, measure_place, answer);
    if (!hf_answer_reserve(answer, answer->count, answer->me)) {
        answer->count = answer->me = 0;
        return HF_ENOMEM;
    }
    answer->count = answer->me = 0;
    each_place(world, name, copy_place, answer);
    if (answer->count > 0)
        qsort(answer->ticket, answer->count, sizeof *answer->ticket, by_name_and_seq);
    answer->me = answer->count;
    return 0;
}
