/* door.c - see door.h. */
#include "door.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FORGET_US \
    (INT64_C(12) * 3600 * 1000000) /* a browser that asked nothing so long */

bool door_init(struct door *door, const char *bearer)
{
    *door = (struct door){ .bearer = bearer };
    return door_new_key(door);
}

bool door_new_key(struct door *door)
{
    return secret_make(door->key);
}

static struct visit *idlest(struct door *door)
{
    struct visit *found = &door->visit[0];

    for (size_t i = 1; i < DOOR_VISITS; i++)
        if (door->visit[i].used < found->used)
            found = &door->visit[i];
    return found;
}

const char *door_enter(struct door *door, const char *key, int64_t now)
{
    struct visit fresh = { .used = now };

    if (!secret_equal(door->key, key) || !secret_make(fresh.token))
        return NULL;
    secret_forget(door->key);
    struct visit *visit = idlest(door);
    *visit = fresh;
    return visit->token;
}

bool door_admits(struct door *door, const char *header, int64_t now)
{
    if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0)
        return false;
    const char *token = header + 7;
    bool        admitted = door->bearer != NULL && secret_equal(door->bearer, token);
    for (size_t i = 0; i < DOOR_VISITS; i++) { /* all: time tells nothing */
        struct visit *visit = &door->visit[i];
        if (visit->token[0] != '\0' && now - visit->used > FORGET_US)
            *visit = (struct visit){ 0 };
        if (secret_equal(visit->token, token)) {
            visit->used = now;
            admitted = true;
        }
    }
    return admitted;
}

/* ---- Names ------------------------------------------------------------------------ */

/* Is `host` that name, alone or with a port that is right? */
static bool is_name(const char *host, const char *name, uint16_t port)
{
    size_t length = strlen(name);
    char   wanted[16];

    if (strncasecmp(host, name, length) != 0)
        return false;
    host += length;
    if (*host == '\0')
        return port == 0 || port == 80;
    if (*host++ != ':' || *host == '\0' || strspn(host, "0123456789") != strlen(host))
        return false;
    snprintf(wanted, sizeof wanted, "%u", port);
    return port == 0 || strcmp(host, wanted) == 0;
}

bool door_knows(const char *host, const char *name, uint16_t port)
{
    static const char *const own[] = { "localhost", "127.0.0.1", "[::1]" };

    if (host == NULL)
        return false;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (is_name(host, own[i], port))
            return true;
    /* A proxy has a port of its own, the usual one as a rule. */
    return name != NULL && (strcasecmp(host, name) == 0 || is_name(host, name, port));
}

bool door_is_same(const char *origin, const char *host)
{
    const char *at = strstr(origin, "://");

    if (at == NULL ||
        (strncmp(origin, "http://", 7) != 0 && strncmp(origin, "https://", 8) != 0))
        return false;
    return strcasecmp(at + 3, host) == 0;
}
