/* own.c - see own.h. */
#include "store/sqlite/line/own.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Losses that no caller ever asks about must not fill the memory. */
#define LOST_MAX 65536

/* Reserve room to note the loss of every place and of one more: a loss must never be
 * forgotten for lack of memory. */
static bool reserve_lost(struct hf_sq_owns *owns)
{
    size_t need = owns->count + owns->alive + 1;

    if (need <= owns->room)
        return true;
    uint64_t *grown = realloc(owns->lost, need * 2 * sizeof *grown);
    if (grown == NULL)
        return false;
    owns->lost = grown;
    owns->room = need * 2;
    return true;
}

/* ---- Finding them ------------------------------------------------------------ */

static struct hf_sq_own **list_of(const struct hf_sq_owns *owns, struct hf_sq_own **lists,
                                  uint64_t number)
{
    assert(owns->lists > 0);
    return &lists[number & (owns->lists - 1)];
}

static void put_in_lists(struct hf_sq_owns *owns, struct hf_sq_own *own)
{
    struct hf_sq_own **id = list_of(owns, owns->by_id, own->id);
    struct hf_sq_own **seq = list_of(owns, owns->by_seq, own->seq);

    own->next_by_id = *id;
    *id = own;
    own->next_by_seq = *seq;
    *seq = own;
}

static void take_from_lists(struct hf_sq_owns *owns, struct hf_sq_own *own)
{
    struct hf_sq_own **id = list_of(owns, owns->by_id, own->id);
    struct hf_sq_own **seq = list_of(owns, owns->by_seq, own->seq);

    while (*id != own)
        id = &(*id)->next_by_id;
    *id = own->next_by_id;
    while (*seq != own)
        seq = &(*seq)->next_by_seq;
    *seq = own->next_by_seq;
}

/* About as many lists as there are places. */
static bool reserve_lists(struct hf_sq_owns *owns)
{
    if (owns->alive < owns->lists)
        return true;
    size_t             lists = owns->lists > 0 ? owns->lists * 4 : 16;
    struct hf_sq_own **grown = calloc(2 * lists, sizeof(struct hf_sq_own *));
    if (grown == NULL)
        return owns->lists > 0; /* slower, but correct */
    free(owns->by_id);
    owns->by_id = grown;
    owns->by_seq = grown + lists;
    owns->lists = lists;
    for (struct hf_sq_own *own = owns->first; own != NULL; own = own->next)
        put_in_lists(owns, own);
    return true;
}

struct hf_sq_own *hf_sq_owns_find(const struct hf_sq_owns *owns, uint64_t id)
{
    struct hf_sq_own *own = owns->lists > 0 ? *list_of(owns, owns->by_id, id) : NULL;

    while (own != NULL && own->id != id)
        own = own->next_by_id;
    return own;
}

struct hf_sq_own *hf_sq_owns_by_seq(const struct hf_sq_owns *owns, uint64_t seq)
{
    struct hf_sq_own *own = owns->lists > 0 ? *list_of(owns, owns->by_seq, seq) : NULL;

    while (own != NULL && own->seq != seq)
        own = own->next_by_seq;
    return own;
}

/* ---- Adding and removing ----------------------------------------------------- */

struct hf_sq_own *hf_sq_own_new(struct hf_sq_owns *owns, uint64_t id, const char *line,
                                const struct hf_shape *shape)
{
    assert(id != 0); /* 0: a caller without a place */
    bool              room = reserve_lost(owns) && reserve_lists(owns);
    struct hf_sq_own *own = room ? calloc(1, sizeof *own) : NULL;
    if (own == NULL)
        return NULL;
    own->id = id;
    own->watch.own = own;
    own->shape = *shape;
    own->line = strdup(line);
    if (own->line == NULL) {
        free(own);
        return NULL;
    }
    return own;
}

void hf_sq_own_free(struct hf_sq_own *own)
{
    if (own == NULL)
        return;
    hf_sq_ahead_leave(own);
    free(own->watch.ties.tie);
    free(own->asked);
    free(own->line);
    free(own);
}

void hf_sq_owns_finish(struct hf_sq_owns *owns)
{
    while (owns->first != NULL) {
        struct hf_sq_own *own = owns->first;
        owns->first = own->next;
        hf_sq_own_free(own);
    }
    free(owns->by_id);
    free(owns->lost);
    *owns = (struct hf_sq_owns){ 0 };
}

void hf_sq_owns_add(struct hf_sq_owns *owns, struct hf_sq_own *own)
{
    assert(own->seq != 0 && hf_sq_owns_find(owns, own->id) == NULL);
    assert(owns->count + owns->alive < owns->room); /* room to note its loss */
    own->next = owns->first;
    own->prev = &owns->first;
    if (own->next != NULL)
        own->next->prev = &own->next;
    owns->first = own;
    put_in_lists(owns, own);
    owns->alive++;
}

static void note_lost(struct hf_sq_owns *owns, uint64_t id)
{
    if (owns->count >= LOST_MAX) {
        owns->count = LOST_MAX / 2;
        memmove(owns->lost, owns->lost + LOST_MAX / 2, owns->count * sizeof id);
    }
    assert(owns->count < owns->room);
    owns->lost[owns->count++] = id;
}

void hf_sq_owns_drop(struct hf_sq_owns *owns, struct hf_sq_own *own, bool lost)
{
    assert(owns->alive > 0 && *own->prev == own && own->watch.req == NULL);
    *own->prev = own->next;
    if (own->next != NULL)
        own->next->prev = own->prev;
    take_from_lists(owns, own);
    owns->alive--;
    if (lost)
        note_lost(owns, own->id);
    hf_sq_own_free(own);
}

bool hf_sq_owns_lost(const struct hf_sq_owns *owns, uint64_t id)
{
    for (size_t i = owns->count; i-- > 0;)
        if (owns->lost[i] == id)
            return true;
    return false;
}
