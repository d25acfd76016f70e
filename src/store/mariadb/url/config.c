/* config.c - what a mariadb: URL says.
 *
 *     mariadb://user[:password]@host[:port][,host...][/database]?ttl=30s&...
 *     mariadb://user@/database?socket=/run/mysqld/mysqld.sock
 *
 * `mysql:` is the same.
 */
#include "store/mariadb/url/config.h"

#include "store/param.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MIN  (500 * HF_MS)
#define AUTH_MAX 4096
#define VARIABLE "HOLDFAST_MARIADB_AUTH"
#define EXAMPLE  "write mariadb://user@host/database"

/* ---- Servers and database --------------------------------------------------------- */

/* The name goes into statements as it is. */
static int set_database(struct hf_maria_config *ret, const char *text, char *errmsg)
{
    size_t length = strlen(text);

    for (const char *at = text; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("_-$", *at) == NULL)
            length = sizeof ret->database;
    if (length >= sizeof ret->database)
        return hf_param_complain(errmsg, "bad database name", text,
                                 "up to 64 letters, digits, _, - and $");
    snprintf(ret->database, sizeof ret->database, "%s", length > 0 ? text : "holdfast");
    return 0;
}

static int set_socket(struct hf_maria_config *ret, const char *path, char *errmsg)
{
    if (ret->servers > 0)
        return hf_param_complain(errmsg, "a host and a socket:", path,
                                 "write mariadb://user@/database?socket=/path");
    if (path[0] != '/' || strlen(path) >= sizeof ret->path)
        return hf_param_complain(errmsg, "bad path of a socket:", path,
                                 "write an absolute path of at most 107 bytes");
    snprintf(ret->path, sizeof ret->path, "%s", path);
    return 0;
}

/* Never echo `text` before it is split: it may contain a password. */
static int split_url(struct hf_maria_config *ret, char *text, const char *socket,
                     char *errmsg)
{
    if (strncmp(text, "//", 2) != 0)
        return hf_param_complain(errmsg, "no // in", "mariadb:", EXAMPLE);
    text += 2;
    char *path = strchr(text, '/');
    if (path != NULL && strchr(path, '@') != NULL)
        return hf_param_complain(errmsg, "no server before the /", "@",
                                 "in a password write %2F for / and %3F for ?");
    if (path != NULL)
        *path++ = '\0';
    int count = hf_servers_parse(text, "3306", ret->server, HF_MARIA_SERVERS, errmsg);
    if (count < 0)
        return count;
    ret->servers = (size_t)count;
    if (socket != NULL) {
        int r = set_socket(ret, socket, errmsg);
        if (r < 0)
            return r;
    } else if (count == 0) {
        return hf_param_complain(errmsg, "no server in", "mariadb:", EXAMPLE);
    }
    return set_database(ret, path != NULL ? path : "", errmsg);
}

/* ---- User and password -------------------------------------------------------------- */

/* "user:password"; or "password" alone, if the URL has the user. */
static int take_secret(struct hf_maria_config *ret, const char *text, char *errmsg,
                       const char *where)
{
    const char *colon = strchr(text, ':');

    if (text[0] == '\0' || strlen(text) > AUTH_MAX)
        return hf_param_complain(errmsg, "no password in", where,
                                 "write user:password, or the password alone");
    if (colon != NULL && ret->user == NULL)
        ret->user = strndup(text, (size_t)(colon - text));
    else
        colon = NULL;
    ret->password = strdup(colon != NULL ? colon + 1 : text);
    return ret->password != NULL && (colon == NULL || ret->user != NULL) ? 0 : HF_ENOMEM;
}

static int take_user(struct hf_maria_config *ret, const char *text)
{
    const char *colon = text != NULL ? strchr(text, ':') : NULL;

    if (text == NULL || text[0] == '\0' || colon == text)
        return 0;
    ret->user = colon != NULL ? strndup(text, (size_t)(colon - text)) : strdup(text);
    if (colon != NULL)
        ret->password = strdup(colon + 1);
    return ret->user != NULL && (colon == NULL || ret->password != NULL) ? 0 : HF_ENOMEM;
}

/* The password of the file wins over that of the URL, and that over the environment. */
static int set_auth(struct hf_maria_config *ret, const struct hf_config *config,
                    char *errmsg)
{
    const char *file = hf_config_get(config, "auth");
    const char *variable = secure_getenv(VARIABLE);
    int         r = take_user(ret, config->user);

    if (r == 0 && file != NULL) {
        char line[AUTH_MAX + 2] = "";
        if (ret->password != NULL)
            return hf_param_complain(errmsg, "a password in the URL and in", file,
                                     "one is enough");
        ret->auth_has_user = ret->user == NULL;
        if ((ret->auth = strdup(file)) == NULL)
            return HF_ENOMEM;
        r = hf_param_read_auth(file, line, sizeof line, errmsg);
        if (r == 0)
            r = take_secret(ret, line, errmsg, file);
        explicit_bzero(line, sizeof line);
    } else if (r == 0 && ret->password == NULL && variable != NULL &&
               variable[0] != '\0') {
        r = take_secret(ret, variable, errmsg, VARIABLE);
    }
    if (r == 0 && ret->user == NULL)
        r = hf_param_complain(errmsg, "no user in", "mariadb:", EXAMPLE);
    return r;
}

/* ---- Parameters --------------------------------------------------------------------- */

static int set_switch(const struct hf_config *config, const char *key, bool *ret,
                      char *errmsg)
{
    const char *text = hf_config_get(config, key);

    if (text == NULL)
        return 0;
    *ret = strcmp(text, "yes") == 0;
    if (!*ret && strcmp(text, "no") != 0) {
        char what[32];
        snprintf(what, sizeof what, "%s cannot be", key);
        return hf_param_complain(errmsg, what, text, "write yes or no");
    }
    return 0;
}

static int set_params(struct hf_maria_config *ret, const struct hf_config *config,
                      char *errmsg)
{
    int r = hf_param_time(config, "ttl", TTL_MIN, &ret->ttl, errmsg);

    ret->secure = hf_config_get(config, "ca") != NULL;
    if (r == 0)
        r = set_switch(config, "tls", &ret->secure, errmsg);
    if (r == 0)
        r = set_switch(config, "polling", &ret->polling, errmsg);
    if (r == 0)
        r = hf_param_history(config, &ret->history, errmsg);
    return r == 0 ? set_auth(ret, config, errmsg) : r;
}

int hf_maria_config_init(struct hf_maria_config *ret, const struct hf_config *config,
                         char *errmsg)
{
    *ret = (struct hf_maria_config){ 0 };
    snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
    char *text = strdup(config->rest);
    if (text == NULL)
        return HF_ENOMEM;
    int r = split_url(ret, text, hf_config_get(config, "socket"), errmsg);
    explicit_bzero(text, strlen(text));
    free(text);
    if (r == 0)
        r = set_params(ret, config, errmsg);
    if (r < 0)
        hf_maria_config_finish(ret);
    else
        assert((ret->servers == 0) == (ret->path[0] != '\0')); /* exactly one is given */
    return r;
}

void hf_maria_config_finish(struct hf_maria_config *config)
{
    free(config->user);
    config->user = NULL;
    if (config->password != NULL)
        explicit_bzero(config->password, strlen(config->password));
    free(config->password);
    free(config->auth);
    config->password = config->auth = NULL;
}

void hf_maria_config_reread(struct hf_maria_config *config)
{
    struct hf_maria_config fresh = { 0 };
    char                   line[AUTH_MAX + 2] = "", errmsg[HF_ERRMSG_MAX];

    if (!config->auth_has_user && config->user != NULL)
        fresh.user = strdup(config->user);
    if (hf_param_reread_auth(config->auth, line, sizeof line) &&
        take_secret(&fresh, line, errmsg, config->auth) == 0 && fresh.user != NULL) {
        struct hf_maria_config former = { .user = config->user,
                                          .password = config->password };
        config->user = fresh.user;
        config->password = fresh.password;
        fresh = former;
    }
    hf_maria_config_finish(&fresh);
    explicit_bzero(line, sizeof line);
}
