/* own.c - see own.h. */
#include "store/sqlite/own.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Callers that never ask about what they lost must not fill the memory. */
#define LOST_MAX 65536

/* Room to note the loss of every ticket there is, and of one more: that a ticket
 * was lost must never be forgotten for lack of memory. */
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

struct hf_sq_own *hf_sq_own_new(struct hf_sq_owns *owns, uint64_t id, const char *line,
                                const struct hf_shape *shape)
{
    assert(id != 0); /* that is who has no place */
    struct hf_sq_own *own = reserve_lost(owns) ? calloc(1, sizeof *own) : NULL;
    if (own == NULL)
        return NULL;
    own->id = id;
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
    free(own->ahead);
    free(own->line);
    free(own->note);
    free(own);
}

void hf_sq_owns_finish(struct hf_sq_owns *owns)
{
    while (owns->first != NULL) {
        struct hf_sq_own *own = owns->first;
        owns->first = own->next;
        hf_sq_own_free(own);
    }
    free(owns->lost);
    *owns = (struct hf_sq_owns){ 0 };
}

void hf_sq_owns_add(struct hf_sq_owns *owns, struct hf_sq_own *own)
{
    assert(own->seq != 0 && hf_sq_owns_find(owns, own->id) == NULL);
    assert(owns->count + owns->alive < owns->room); /* room to note its loss */
    own->next = owns->first;
    owns->first = own;
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
    struct hf_sq_own **at = &owns->first;

    while (*at != own) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = own->next;
    assert(owns->alive > 0);
    owns->alive--;
    if (lost)
        note_lost(owns, own->id);
    hf_sq_own_free(own);
}

struct hf_sq_own *hf_sq_owns_find(const struct hf_sq_owns *owns, uint64_t id)
{
    struct hf_sq_own *own = owns->first;

    while (own != NULL && own->id != id)
        own = own->next;
    return own;
}

struct hf_sq_own *hf_sq_owns_by_seq(const struct hf_sq_owns *owns, uint64_t seq)
{
    struct hf_sq_own *own = owns->first;

    while (own != NULL && own->seq != seq)
        own = own->next;
    return own;
}

bool hf_sq_owns_lost(const struct hf_sq_owns *owns, uint64_t id)
{
    for (size_t i = owns->count; i-- > 0;)
        if (owns->lost[i] == id)
            return true;
    return false;
}
