/* place.c - the places we have or want, by their ids; and messages about them. */
#include "store/served/served.h"

#include "base/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS_LEAST 64

static struct hf_served_place **bucket(const struct hf_served *served, uint64_t id)
{
    assert(served->buckets > 0);
    return &served->place[id % served->buckets];
}

/* Ids rise by one, so they fill the buckets evenly.  False: no memory for the first ones. */
static bool make_room(struct hf_served *served)
{
    size_t                   old = served->buckets;
    struct hf_served_place **all = served->place;

    if (served->places < old)
        return true;
    size_t count = old == 0 ? BUCKETS_LEAST : old * 2;
    served->place = calloc(count, sizeof *served->place);
    if (served->place == NULL) {
        served->place = all;
        return old > 0;
    }
    served->buckets = count;
    for (size_t i = 0; i < old; i++)
        for (struct hf_served_place *at = all[i], *next; at != NULL; at = next) {
            struct hf_served_place **to = bucket(served, at->id);
            next = at->next;
            at->next = *to;
            *to = at;
        }
    free(all);
    return true;
}

struct hf_served_place *hf_served_place_find(const struct hf_served *served, uint64_t id)
{
    struct hf_served_place *place = served->buckets > 0 ? *bucket(served, id) : NULL;

    while (place != NULL && place->id != id)
        place = place->next;
    return place;
}

/* From a stock: one system call costs as much as 32 secrets. */
static uint64_t draw_secret(struct hf_served *served)
{
    if (served->secrets == 0) {
        served->secrets = HF_SERVED_SECRET_STOCK;
        hf_random_fill(served->secret, served->secrets);
    }
    return served->secret[--served->secrets];
}

struct hf_served_place *hf_served_place_new(struct hf_served    *served,
                                            const struct hf_req *req)
{
    size_t                  size = strlen(req->name) + 1;
    struct hf_served_place *place;

    assert(req->id != 0 && hf_served_place_find(served, req->id) == NULL);
    if (!make_room(served) || (place = calloc(1, sizeof *place + size)) == NULL)
        return NULL;
    place->note = strdup(req->note != NULL ? req->note : "");
    if (place->note == NULL) {
        free(place);
        return NULL;
    }
    memcpy(place->name, req->name, size);
    place->id = req->id;
    place->shape = req->shape;
    place->slot = -1;
    place->grant_secret = draw_secret(served);
    place->next = *bucket(served, req->id);
    *bucket(served, req->id) = place;
    served->places++;
    return place;
}

/* The WATCHes that wait for messages about the place are begun again. */
static void wake_watches(struct hf_served_place *place)
{
    while (place->watch != NULL)
        hf_task_again(&place->watch->base);
}

static void free_place(struct hf_served *served, struct hf_served_place *place)
{
    wake_watches(place); /* they find it gone */
    assert(served->places > 0);
    free(place->note);
    free(place->asked);
    free(place);
    served->places--;
}

void hf_served_place_drop(struct hf_served *served, uint64_t id)
{
    struct hf_served_place **at;

    if (served->buckets == 0)
        return;
    at = bucket(served, id);
    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    struct hf_served_place *place = *at;
    if (place == NULL)
        return;
    *at = place->next;
    free_place(served, place);
}

void hf_served_places_drop(struct hf_served *served)
{
    for (size_t i = 0; i < served->buckets; i++) {
        struct hf_served_place *place;
        while ((place = served->place[i]) != NULL) {
            served->place[i] = place->next;
            free_place(served, place);
        }
    }
    free(served->place);
    served->place = NULL;
    served->buckets = 0;
}

void hf_served_place_notify(struct hf_served_place *place)
{
    place->notified++;
    wake_watches(place);
}

void hf_served_reread_all(struct hf_served *served)
{
    for (size_t i = 0; i < served->buckets; i++)
        for (struct hf_served_place *at = served->place[i]; at != NULL; at = at->next)
            hf_served_place_notify(at);
    hf_served_changed(served, NULL);
    hf_served_watch_store_ring(served);
}

/* The new secret: a message of before the loss may still be on its way to us. */
void hf_served_forget_overtaking(struct hf_served *served)
{
    for (size_t i = 0; i < served->buckets; i++)
        for (struct hf_served_place *at = served->place[i]; at != NULL; at = at->next)
            if (at->seq == 0 || !at->granted) {
                at->granted = false;
                at->grant_secret = draw_secret(served);
            }
}

void hf_served_grant_secret(const struct hf_served_place *place,
                            char                          ret[HF_SERVED_GRANT_SECRET])
{
    snprintf(ret, HF_SERVED_GRANT_SECRET, "%016" PRIx64, place->grant_secret);
}

/* ---- Messages ----------------------------------------------------------------- */

/* A place that is already granted ignores it. */
static void on_granted(struct hf_served_place *place, const char *rest)
{
    int      slot = -1;
    int64_t  since = 0;
    uint64_t secret = 0;

    if (place->granted)
        return;
    if (sscanf(rest, "%d %" SCNd64 " %" SCNx64, &slot, &since, &secret) != 3 ||
        secret != place->grant_secret) {
        hf_served_place_notify(place);
        return;
    }
    place->granted = true;
    place->slot = slot;
    place->since = since;
    wake_watches(place);
}

bool hf_served_message(struct hf_served *served, const char *text)
{
    char *rest;

    if (strcmp(text, "e") == 0) {
        served->ops->renew(served); /* the answer will tell whether it is true */
        return true;
    }
    if (strcmp(text, "s") == 0) {
        hf_served_watch_store_ring(served);
        return true;
    }
    if (text[0] == '\0' || text[1] != ' ')
        return false;
    if (text[0] == 'c') {
        hf_served_changed(served, text + 2);
        return true;
    }
    struct hf_served_place *place =
        hf_served_place_find(served, strtoull(text + 2, &rest, 10) - served->first_id);
    if (place == NULL)
        return true;
    place->doubted |= text[0] == 'b';
    if (text[0] == 'g')
        on_granted(place, rest);
    else
        hf_served_place_notify(place);
    return true;
}
