/* url_shown.c - a store URL without its passwords. */
#include "client/url.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Remove the value of every "password=..." and the like.  client_key and server_key are
 * parts of libpq's scram_client_key and scram_server_key; a name with %XX in it may be
 * any of these. */
static void hide_params(char *url)
{
    static const char *const secret[] = { "password",   "passwd",     "secret", "token",
                                          "client_key", "server_key", "%" };
    char                    *key = strpbrk(url, "?&");

    for (; key != NULL; key = strpbrk(key, "?&")) {
        size_t length = strcspn(++key, "=?&");
        for (size_t i = 0; i < sizeof secret / sizeof *secret; i++) {
            const char *found = strcasestr(key, secret[i]);
            if (found == NULL || found + strlen(secret[i]) > key + length)
                continue;
            char *end = key + length + strcspn(key + length, "&");
            memmove(key + length, end, strlen(end) + 1);
            break;
        }
    }
}

/* The colon before a password; stores decode %3A before they look for it. */
static char *find_colon(char *user, const char *end)
{
    for (; user < end; user++)
        if (*user == ':' || strncasecmp(user, "%3a", 3) == 0)
            return user;
    return NULL;
}

/* Remove the password of "//user:password@". */
static void hide_password(char *url)
{
    char *host = strstr(url, "://");
    if (host == NULL)
        return;

    host += 3;
    size_t authority = strcspn(host, "/?");
    char  *at = NULL;
    for (size_t i = 0; i < authority; i++)
        if (host[i] == '@')
            at = host + i;
    char *colon = at != NULL ? find_colon(host, at) : NULL;
    assert(colon == NULL || colon < at);
    if (colon != NULL)
        memmove(colon, at, strlen(at) + 1);
}

char *hf_url_shown(const char *url)
{
    char *copy = strdup(url);

    if (copy == NULL)
        return NULL;
    if (hf_url_is_dubious(url)) {
        copy[strcspn(copy, ":@/?")] = '\0';
        return copy;
    }
    hide_params(copy);
    hide_password(copy);
    return copy;
}

/* After these schemes comes a file, a socket or a name, and an @ is an ordinary
 * character. */
static bool is_path(const char *url)
{
    static const char *const schemes[] = { "sqlite:", "memory:", "redis+unix:" };

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t length = strlen(schemes[i]);
        if (strncmp(url, schemes[i], length) == 0)
            return strncmp(url + length, "//", 2) != 0;
    }
    return false;
}

/* An unescaped @ may stand only right before the servers. */
bool hf_url_is_dubious(const char *url)
{
    const char *servers = strstr(url, "://");

    if (strchr(url, '@') == NULL || is_path(url))
        return false;
    if (servers == NULL)
        return true;
    servers += 3;
    return strchr(servers + strcspn(servers, "/?"), '@') != NULL;
}
