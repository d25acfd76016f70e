/* config.c - what a redis: URL says.
 *
 *     redis://[user:password@]host[:port][/db]?ttl=30s&...      rediss: the same by TLS
 *     redis://host[:port],host...                               servers of one cluster
 *     redis+unix:/path/of/socket?db=...
 *     redis+sentinel://[user:password@]host[:port],host.../SERVICE?db=...
 *
 * auth.c reads user and password.
 */
#include "store/param.h"
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TTL_MIN      (500 * HF_MS)
#define DB_MAX       65535
#define REPLICAS_MAX 100
#define PREFIX_MAX   100

static bool is_printable(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= 0x20 || *text >= 0x7f)
            return false;
    return true;
}

/* Parse a number from 0 to `most`; -1: it is none. */
static int parse_small(const char *text, int most)
{
    size_t length = strspn(text, "0123456789");

    assert(most < 1000000); /* six digits are read, so that none overflows */
    if (length == 0 || length > 6 || text[length] != '\0' || atoi(text) > most)
        return -1;
    return atoi(text);
}

/* ---- Servers ------------------------------------------------------------------ */

/* A majority is counted among the Sentinels named, so none may be named twice. */
static const struct hf_server *find_double(const struct hf_redis_config *config)
{
    for (const struct hf_server *one = config->server;
         one < config->server + config->servers; one++)
        for (const struct hf_server *at = config->server; at < one; at++)
            if (strcasecmp(at->host, one->host) == 0 && strcmp(at->port, one->port) == 0)
                return one;
    return NULL;
}

static int split_servers(struct hf_redis_config *ret, char *text, bool sentinel,
                         char *errmsg)
{
    int count = hf_servers_parse(text, sentinel ? "26379" : "6379", ret->server,
                                 HF_REDIS_SERVERS, errmsg);

    if (count < 0)
        return count;
    if (count == 0)
        return hf_param_complain(errmsg, "no server in",
                                 sentinel ? "redis+sentinel:" : "redis:",
                                 sentinel
                                     ? "write redis+sentinel://host:26379,host/SERVICE"
                                     : "write redis://host:6379");
    assert(count <= HF_REDIS_SERVERS);
    ret->servers = (size_t)count;
    const struct hf_server *twice = sentinel ? find_double(ret) : NULL;
    return twice == NULL
               ? 0
               : hf_param_complain(errmsg, "the same Sentinel twice:", twice->host,
                                   "name each Sentinel once");
}

/* "/path" or "///path".  Never echo anything else: it may contain a password. */
static int set_path(struct hf_redis_config *ret, const char *text, char *errmsg)
{
    const char *path = strncmp(text, "///", 3) == 0 ? text + 2 : text;

    if (path[0] != '/' || path[1] == '/' || path[1] == '\0')
        return hf_param_complain(errmsg, "missing socket path in",
                                 "redis+unix:", "write redis+unix:/path/of/socket");
    if (strlen(path) >= sizeof ret->path)
        return hf_param_complain(errmsg, "socket path too long:", path,
                                 "at most 107 bytes");
    snprintf(ret->path, sizeof ret->path, "%s", path);
    return 0;
}

static int set_service(struct hf_redis_config *ret, const char *text, char *errmsg)
{
    if (text[0] == '\0' || strchr(text, '/') != NULL || !is_printable(text) ||
        strlen(text) >= sizeof ret->service)
        return hf_param_complain(
            errmsg, "bad Sentinel service name", text,
            "write redis+sentinel://host:26379/SERVICE, a database as ?db=");
    snprintf(ret->service, sizeof ret->service, "%s", text);
    return 0;
}

static int set_db(struct hf_redis_config *ret, const char *text, char *errmsg)
{
    int db = parse_small(text, DB_MAX);

    if (db < 0)
        return hf_param_complain(errmsg, "bad database number", text,
                                 "write redis://host:6379/0 or ?db=0");
    ret->db = db;
    return 0;
}

static int split_url(struct hf_redis_config *ret, char *text, bool sentinel, char *errmsg)
{
    if (strncmp(text, "//", 2) != 0) /* it may start with a password */
        return hf_param_complain(errmsg, "no // in",
                                 sentinel ? "redis+sentinel:" : "redis:",
                                 sentinel ? "write redis+sentinel://host:26379/SERVICE"
                                          : "write redis://host:6379");
    text += 2;

    char *path = strchr(text, '/');
    if (path != NULL && strchr(path, '@') != NULL)
        return hf_param_complain(errmsg, "no server before the /", "@",
                                 "in a password write %2F for / and %3F for ?");
    if (path != NULL)
        *path++ = '\0';
    int r = split_servers(ret, text, sentinel, errmsg);
    if (r == 0 && sentinel)
        r = set_service(ret, path != NULL ? path : "", errmsg);
    else if (r == 0 && path != NULL && path[0] != '\0')
        r = set_db(ret, path, errmsg);
    return r;
}

/* ---- Parameters --------------------------------------------------------------- */

/* The braces put all keys of a namespace into one slot of a cluster.  So the prefix
 * itself must not contain any. */
static int set_prefix(struct hf_redis_config *ret, const char *text, char *errmsg)
{
    static_assert(PREFIX_MAX + sizeof "{}" <= sizeof ret->prefix, "any prefix fits");
    if (text == NULL)
        text = "holdfast";
    if (text[0] == '\0' || strlen(text) > PREFIX_MAX || !is_printable(text) ||
        strpbrk(text, "{}") != NULL)
        return hf_param_complain(errmsg, "bad key prefix", text,
                                 "1 to 100 ASCII characters, no blanks, no braces");
    snprintf(ret->prefix, sizeof ret->prefix, "{%s}", text);
    return 0;
}

static int set_evicting(struct hf_redis_config *ret, const char *text, char *errmsg)
{
    ret->evicting = text != NULL && strcmp(text, "yes") == 0;
    if (text != NULL && !ret->evicting && strcmp(text, "no") != 0)
        return hf_param_complain(errmsg, "evicting cannot be", text, "write yes or no");
    return 0;
}

static int set_replicas(struct hf_redis_config *ret, const char *text, char *errmsg)
{
    ret->replicas = text != NULL ? parse_small(text, REPLICAS_MAX) : 0;
    if (ret->replicas < 0)
        return hf_param_complain(errmsg, "bad number of replicas", text,
                                 "write a number from 0 to 100");
    return 0;
}

/* ?db=, which must not contradict the /db behind the host. */
static int set_db_param(struct hf_redis_config *ret, const char *text, char *errmsg)
{
    int before = ret->db;

    if (text == NULL)
        return 0;
    int r = set_db(ret, text, errmsg);
    if (r == 0 && before != 0 && before != ret->db)
        return hf_param_complain(errmsg, "two databases, the second is", text,
                                 "write /db or ?db=, not both");
    return r;
}

static int set_params(struct hf_redis_config *ret, const struct hf_config *config,
                      char *errmsg)
{
    int r = hf_param_time(config, "ttl", TTL_MIN, &ret->ttl, errmsg);

    if (r == 0)
        r = set_prefix(ret, hf_config_get(config, "prefix"), errmsg);
    if (r == 0)
        r = set_replicas(ret, hf_config_get(config, "replicas"), errmsg);
    if (r == 0)
        r = set_evicting(ret, hf_config_get(config, "evicting"), errmsg);
    if (r == 0)
        r = hf_param_history(config, &ret->history, errmsg);
    if (r == 0)
        r = set_db_param(ret, hf_config_get(config, "db"), errmsg);
    return r == 0 ? hf_redis_config_auth(ret, config, errmsg) : r;
}

/* ---- Both ends ---------------------------------------------------------------- */

int hf_redis_config_init(struct hf_redis_config *ret, const struct hf_config *config,
                         char *errmsg)
{
    bool sentinel = strcmp(config->scheme, "redis+sentinel") == 0;
    int  r;

    *ret = (struct hf_redis_config){ .secure = strcmp(config->scheme, "rediss") == 0 };
    snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
    char *text = strdup(config->rest);
    if (text == NULL)
        return HF_ENOMEM;
    if (strcmp(config->scheme, "redis+unix") == 0)
        r = set_path(ret, text, errmsg);
    else
        r = split_url(ret, text, sentinel, errmsg);
    explicit_bzero(text, strlen(text));
    free(text);
    if (r == 0)
        r = set_params(ret, config, errmsg);
    if (r < 0)
        hf_redis_config_finish(ret);
    else
        assert((ret->servers == 0) == (ret->path[0] != '\0')); /* exactly one is given */
    return r;
}

static void wipe(char **text)
{
    if (*text != NULL)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void hf_redis_config_finish(struct hf_redis_config *config)
{
    wipe(&config->user);
    wipe(&config->password);
    wipe(&config->auth);
}
