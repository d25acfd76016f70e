/* auth.c - see auth.h. */
#include "auth.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define FORGET_US (INT64_C(12) * 3600 * 1000000) /* of a page without requests */

bool auth_init(struct auth *auth, const char *bearer)
{
    *auth = (struct auth){ .bearer = bearer };
    return auth_new_key(auth);
}

bool auth_new_key(struct auth *auth)
{
    return secret_make(auth->key);
}

static struct login *least_recent(struct auth *auth)
{
    struct login *found = &auth->login[0];

    for (size_t i = 1; i < AUTH_LOGINS; i++)
        if (auth->login[i].used < found->used)
            found = &auth->login[i];
    return found;
}

const char *auth_log_in(struct auth *auth, const char *key, int64_t now)
{
    struct login fresh = { .used = now };

    if (!secret_equal(auth->key, key) || !secret_make(fresh.token))
        return NULL;
    secret_forget(auth->key);
    struct login *login = least_recent(auth);
    *login = fresh;
    return login->token;
}

bool auth_is_token(struct auth *auth, const char *header, int64_t now)
{
    if (header == NULL || strncasecmp(header, "Bearer ", 7) != 0)
        return false;
    const char *token = header + 7;
    bool        admitted = auth->bearer != NULL && secret_equal(auth->bearer, token);
    for (size_t i = 0; i < AUTH_LOGINS; i++) { /* all of them, in constant time */
        struct login *login = &auth->login[i];
        if (login->token[0] != '\0' && now - login->used > FORGET_US)
            *login = (struct login){ 0 };
        if (secret_equal(login->token, token)) {
            login->used = now;
            admitted = true;
        }
    }
    return admitted;
}

/* ---- Names ------------------------------------------------------------------------ */

/* Is `host` that name, alone or with the right port? */
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

bool auth_is_our_host(const char *host, const char *name, uint16_t port)
{
    static const char *const own[] = { "localhost", "127.0.0.1", "[::1]" };

    if (host == NULL)
        return false;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (is_name(host, own[i], port))
            return true;
    /* A proxy has its own port, usually the default. */
    return name != NULL && (strcasecmp(host, name) == 0 || is_name(host, name, port));
}

bool auth_is_same_origin(const char *origin, const char *host)
{
    const char *at = strstr(origin, "://");

    if (at == NULL ||
        (strncmp(origin, "http://", 7) != 0 && strncmp(origin, "https://", 8) != 0))
        return false;
    return strcasecmp(at + 3, host) == 0;
}
