/* place.c - the places we have, or have asked for, by their ids. */
#include "store/redis/inner.h"

#include <stdlib.h>
#include <string.h>

static struct hf_redis_place **bucket(const struct hf_redis *redis, uint64_t id)
{
    /* The buckets belong to the store, which is only lent to those who look. */
    return (struct hf_redis_place **)&redis->place[id % HF_REDIS_BUCKETS];
}

struct hf_redis_place *hf_redis_place_find(const struct hf_redis *redis, uint64_t id)
{
    struct hf_redis_place *place = *bucket(redis, id);

    while (place != NULL && place->id != id)
        place = place->next;
    return place;
}

struct hf_redis_place *hf_redis_place_new(struct hf_redis     *redis,
                                          const struct hf_req *req)
{
    size_t                 size = strlen(req->name) + 1;
    struct hf_redis_place *place = calloc(1, sizeof *place + size);

    if (place == NULL)
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
    place->next = *bucket(redis, req->id);
    *bucket(redis, req->id) = place;
    redis->places++;
    return place;
}

static void free_place(struct hf_redis *redis, struct hf_redis_place *place)
{
    while (place->watch != NULL) /* it is looked at again, and found gone */
        hf_redis_watch_fire(redis, place->watch);
    free(place->note);
    free(place);
    redis->places--;
}

void hf_redis_place_drop(struct hf_redis *redis, uint64_t id)
{
    struct hf_redis_place **at = bucket(redis, id);

    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    struct hf_redis_place *place = *at;
    if (place == NULL)
        return;
    *at = place->next;
    free_place(redis, place);
}

void hf_redis_places_drop(struct hf_redis *redis)
{
    for (size_t i = 0; i < HF_REDIS_BUCKETS; i++) {
        struct hf_redis_place *place;
        while ((place = redis->place[i]) != NULL) {
            redis->place[i] = place->next;
            free_place(redis, place);
        }
    }
}

void hf_redis_place_news(struct hf_redis *redis, struct hf_redis_place *place)
{
    place->news++;
    while (place->watch != NULL)
        hf_redis_watch_fire(redis, place->watch);
}

static bool is_claim(const struct hf_redis_place *place)
{
    return place->shape.claim && place->granted && !place->away && !place->leaving;
}

size_t hf_redis_each_claim(struct hf_redis *redis,
                           void (*visit)(struct hf_redis             *redis,
                                         const struct hf_redis_place *place))
{
    size_t count = 0;

    for (size_t i = 0; i < HF_REDIS_BUCKETS && redis->places > 0; i++)
        for (struct hf_redis_place *at = redis->place[i]; at != NULL; at = at->next)
            if (is_claim(at)) {
                count++;
                if (visit != NULL)
                    visit(redis, at);
            }
    return count;
}
