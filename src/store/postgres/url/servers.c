/* servers.c - the servers that a URL names, and how to name them to libpq and to
 * people. */
#include "store/param.h"
#include "store/postgres/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Servers -------------------------------------------------------------------- */

/* The next part of "a,b,c", or ""; `*text` moves behind it.  False: too long. */
static bool next_part(const char **text, char *ret, size_t size)
{
    size_t length = strcspn(*text, ",");
    bool   fits = length < size;

    snprintf(ret, size, "%.*s", (int)length, *text);
    *text += length + ((*text)[length] == ',');
    return fits;
}

static size_t count_parts(const char *text)
{
    size_t count = 1;

    if (text[0] == '\0')
        return 0;
    for (; *text != '\0'; text++)
        count += *text == ',';
    return count;
}

static bool is_port(const char *text)
{
    return text[0] == '\0' || (strspn(text, "0123456789") == strlen(text) &&
                               atoi(text) > 0 && atoi(text) < 65536);
}

/* Take the next part of each list. */
static int next_server(struct hf_pg_config *ret, const char **host, const char **hostaddr,
                       const char **port, char *errmsg)
{
    assert(ret->servers < HF_PG_SERVERS);
    struct hf_server *server = &ret->server[ret->servers];
    char             *numeric = ret->hostaddr[ret->servers++];

    if (!next_part(host, server->host, sizeof server->host) ||
        !next_part(hostaddr, numeric, sizeof ret->hostaddr[0]))
        return hf_param_complain(errmsg, "the host name is too long:", server->host,
                                 "write a shorter one");
    if (!next_part(port, server->port, sizeof server->port) || !is_port(server->port))
        return hf_param_complain(/* without the text: it may be a password */
                                 errmsg, HF_SERVER_BAD_PORT, server->host,
                                 "write host:5432; in a password %2F for / and %3A for :");
    return 0;
}

static void add_keyword(struct hf_pg_keywords *ret, const char *key, const char *value)
{
    if (value[0] == '\0')
        return;
    assert(ret->count + 1 < HF_PG_KEYWORDS);
    ret->key[ret->count] = key;
    ret->value[ret->count++] = value;
}

/* What libpq would connect to, including a service and the environment.  No function of
 * libpq returns that, and it must not start to connect: it would look up names, and
 * block.  So we pass an invalid setting, which libpq refuses after it has read the
 * rest. */
static PQconninfoOption *effective_options(const PQconninfoOption *option)
{
    struct hf_pg_keywords keywords = { 0 };

    for (; option->keyword != NULL; option++)
        if (option->val != NULL && strcmp(option->keyword, "sslmode") != 0)
            add_keyword(&keywords, option->keyword, option->val);
    add_keyword(&keywords, "sslmode", "none of them");
    PGconn           *conn = PQconnectStartParams(keywords.key, keywords.value, 0);
    PQconninfoOption *ret = conn != NULL ? PQconninfo(conn) : NULL;
    PQfinish(conn);
    return ret;
}

static int find_servers(struct hf_pg_config *ret, const PQconninfoOption *option,
                        char *errmsg)
{
    const char *host = hf_pg_option(option, "host");
    const char *hostaddr = hf_pg_option(option, "hostaddr");
    const char *port = hf_pg_option(option, "port"), *same_port = port;
    size_t      hosts = count_parts(host), addresses = count_parts(hostaddr);
    size_t      ports = count_parts(port), count = hosts > addresses ? hosts : addresses;

    assert(ret->servers == 0);
    if (count == 0)
        count = 1;
    if ((hosts != 0 && hosts != count) || (addresses != 0 && addresses != count) ||
        (ports > 1 && ports != count))
        return hf_param_complain(errmsg, "not as many ports or addresses as hosts in",
                                 "?host=", "give one for each host");
    if (count > HF_PG_SERVERS)
        return hf_param_complain(errmsg, "too many servers in",
                                 "postgres:", "give 16 at most");
    while (ret->servers < count) {
        int r = next_server(ret, &host, &hostaddr, &port, errmsg);
        if (r < 0)
            return r;
        if (ports == 1)
            port = same_port;
    }
    return 0;
}

int hf_pg_config_servers(struct hf_pg_config *ret, char *errmsg)
{
    PQconninfoOption *option = effective_options(ret->option);

    if (option == NULL)
        return HF_ENOMEM;
    int r = find_servers(ret, option, errmsg);
    hf_pg_options_free(option);
    return r;
}

/* ---- For messages --------------------------------------------------------------- */

const char *hf_pg_config_show(const struct hf_pg_config *config, size_t server, char *ret,
                              size_t size)
{
    const struct hf_server *at = &config->server[server];
    PQconninfoOption       *defaults = PQconndefaults(); /* of the environment */
    const char             *service = hf_pg_option(config->option, "service");
    const char *host = at->host[0] != '\0' ? at->host : config->hostaddr[server];
    const char *port = at->port;
    const char *db = hf_pg_option(config->option, "dbname");

    assert(server < config->servers);
    if (host[0] == '\0' && service[0] != '\0') {
        snprintf(ret, size, "service %.100s", service);
    } else {
        if (host[0] == '\0')
            host = hf_pg_option(defaults, "host");
        if (port[0] == '\0')
            port = hf_pg_option(defaults, "port");
        if (db[0] == '\0')
            db = hf_pg_option(defaults, "dbname");
        if (db[0] == '\0')
            db = hf_pg_option(config->option, "user");
        if (db[0] == '\0')
            db = hf_pg_option(defaults, "user");
        bool v6 = host[0] != '/' && strchr(host, ':') != NULL;
        snprintf(ret, size, "%s%.80s%s:%.5s/%.60s", v6 ? "[" : "",
                 host[0] != '\0' ? host : "its socket", v6 ? "]" : "",
                 port[0] != '\0' ? port : "5432", db);
    }
    hf_pg_options_free(defaults); /* may contain a password */
    for (char *c = ret; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return ret;
}

/* ---- For libpq ------------------------------------------------------------------ */

/* Keys that we set ourselves, or that must have no effect: connect_timeout. */
static bool is_ours(const char *key)
{
    return strcmp(key, "host") == 0 || strcmp(key, "hostaddr") == 0 ||
           strcmp(key, "port") == 0 || strcmp(key, "client_encoding") == 0 ||
           strcmp(key, "connect_timeout") == 0 ||
           strcmp(key, "fallback_application_name") == 0;
}

void hf_pg_config_keywords(const struct hf_pg_config *config, size_t server,
                           const char *hostaddr, struct hf_pg_keywords *ret)
{
    const struct hf_server *at = &config->server[server];

    assert(server < config->servers);
    *ret = (struct hf_pg_keywords){ 0 };
    for (const PQconninfoOption *option = config->option; option->keyword != NULL;
         option++)
        if (option->val != NULL && !is_ours(option->keyword))
            add_keyword(ret, option->keyword, option->val);
    add_keyword(ret, "host", at->host);
    add_keyword(ret, "hostaddr", hostaddr != NULL ? hostaddr : config->hostaddr[server]);
    add_keyword(ret, "port", at->port);
    add_keyword(ret, "client_encoding", "UTF8");
    add_keyword(ret, "fallback_application_name", HF_PG_WHO);
}
