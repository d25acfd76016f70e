/* lines.c - the places, in line; who is granted; whom a change wakes. */
#include "examples/store/shelf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

static struct shelf_place *places; /* by name, then by seq */
static size_t              place_count;
struct shelf_session      *shelf_sessions;
struct shelf_view          shelf_view; /* has room for all places, see shelf_add() */

/* S5 fence: every seq, token and stamp is the next number of one counter, which is never
 * set back.  A store that outlives the process keeps it beside its lines.  It begins with 1,
 * because a stamp of 0 would mean that none is known. */
uint64_t shelf_counter = 1;

/* The rule is the core's. */
bool shelf_fits(const struct hf_shape *shape, size_t ahead)
{
    assert(ahead <= shelf_view.count);
    return hf_line_judge(&(struct hf_line){ shelf_view.ticket, ahead }, shape).granted;
}

static bool slot_taken(int slot)
{
    for (size_t i = 0; i < shelf_view.count; i++)
        if (shelf_view.ticket[i].slot == slot)
            return true;
    return false;
}

/* What is ahead of the place is in the view. */
static void grant_if_it_fits(struct shelf_place *place)
{
    struct hf_ticket *ticket = &place->ticket;

    if (place->granted || !shelf_fits(&ticket->shape, shelf_view.count))
        return;
    place->granted = true;
    ticket->since = hf_wall_us();
    if (hf_shape_has_slots(&ticket->shape))
        for (ticket->slot = 0; slot_taken(ticket->slot);)
            ticket->slot++;
}

static bool is_of(const struct shelf_place *place, const struct shelf_session *session,
                  const char *name)
{
    return !place->broken && strcmp(place->session->shelf, session->shelf) == 0 &&
           (name == NULL || strcmp(place->ticket.line, name) == 0);
}

void shelf_look(const struct shelf_session *session, const char *name)
{
    shelf_view.count = shelf_view.waiting = 0;
    for (struct shelf_place *place = places; place != NULL; place = place->next) {
        if (!is_of(place, session, name))
            continue;
        if (name != NULL)
            grant_if_it_fits(place);
        assert(shelf_view.count < place_count);
        shelf_view.ticket[shelf_view.count++] = place->ticket;
        shelf_view.waiting += !place->granted;
    }
}

/* S3 wake: who looks from now on sees the change; who looked before is rung, and looks
 * again.  That is too often for most, and too late for nobody. */
void shelf_changed(const struct shelf_session *session, const char *name)
{
    shelf_counter++;
    shelf_look(session, name); /* grants what fits now */
    for (struct shelf_session *each = shelf_sessions; each != NULL; each = each->next)
        (void)!eventfd_write(each->base.fd, 1);
}

/* S1 order: a new place has the highest seq and stands behind all others of its line, in
 * one step under the mutex. */
static void put_in_line(struct shelf_place *place)
{
    struct shelf_place **at = &places;

    while (*at != NULL && strcmp((*at)->ticket.line, place->ticket.line) <= 0)
        at = &(*at)->next;
    place->ticket.seq = place->ticket.token = ++shelf_counter;
    place->next = *at;
    *at = place;
    place_count++;
    shelf_changed(place->session, place->ticket.line);
}

static void place_free(struct shelf_place *place)
{
    free((char *)place->ticket.line);
    free((char *)place->ticket.note);
    free((char *)place->ticket.asked);
    free(place);
}

int shelf_add(struct shelf_session *session, const struct hf_req *req)
{
    const char         *note = req->note != NULL ? req->note : "";
    size_t              size = (place_count + 1) * sizeof(struct hf_ticket);
    struct hf_ticket   *room = realloc(shelf_view.ticket, size);
    struct shelf_place *place = calloc(1, sizeof *place);

    if (room != NULL)
        shelf_view.ticket = room;
    if (room == NULL || place == NULL) {
        free(place);
        return HF_ENOMEM;
    }
    *place = (struct shelf_place){ .session = session,
                                   .id = req->id,
                                   .ticket = { .shape = req->shape,
                                               .slot = -1,
                                               .since = hf_wall_us(),
                                               .line = strdup(req->name),
                                               .note = strdup(note) } };
    if (place->ticket.line == NULL || place->ticket.note == NULL) {
        place_free(place);
        return HF_ENOMEM;
    }
    put_in_line(place);
    return 0;
}

void shelf_remove(struct shelf_place *place)
{
    struct shelf_place **at = &places;

    while (*at != place)
        at = &(*at)->next;
    *at = place->next;
    place_count--;
    shelf_changed(place->session, place->ticket.line);
    place_free(place);
}

/* S4 tied: with a session go all its places. */
void shelf_remove_all(const struct shelf_session *session)
{
    struct shelf_place *next;

    for (struct shelf_place *place = places; place != NULL; place = next) {
        next = place->next;
        if (place->session == session)
            shelf_remove(place);
    }
}

struct shelf_place *shelf_find_own(const struct shelf_session *session, uint64_t id)
{
    struct shelf_place *place = places;

    while (place != NULL && (place->session != session || place->id != id))
        place = place->next;
    return place;
}

struct shelf_place *shelf_find(const struct shelf_session *session, uint64_t seq)
{
    struct shelf_place *place = places;

    while (place != NULL && (place->ticket.seq != seq || !is_of(place, session, NULL)))
        place = place->next;
    return place;
}
