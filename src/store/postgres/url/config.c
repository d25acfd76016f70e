/* config.c - what a postgres: URL says.
 *
 *     postgres://[user[:password]@][host[:port][,host...]][/database][?key=value&...]
 *
 * libpq parses it, after we have cut out our own parameters.  We try several servers one
 * after the other ourselves (link.c): libpq has no time limit for each when it must not
 * block.
 */
#include "store/param.h"
#include "store/postgres/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TTL_MIN (500 * HF_MS)

static const char *const own[] = { "ttl", "polling", "history" };

static void wipe(char *text)
{
    if (text != NULL)
        explicit_bzero(text, strlen(text));
    free(text);
}

const char *hf_pg_option(const PQconninfoOption *option, const char *key)
{
    for (; option != NULL && option->keyword != NULL; option++)
        if (strcmp(option->keyword, key) == 0)
            return option->val != NULL ? option->val : "";
    return "";
}

void hf_pg_options_free(PQconninfoOption *option)
{
    for (PQconninfoOption *at = option; at != NULL && at->keyword != NULL; at++)
        if (at->val != NULL)
            explicit_bzero(at->val, strlen(at->val));
    PQconninfoFree(option);
}

/* ---- Our own parameters --------------------------------------------------------- */

static int set_polling(struct hf_pg_config *ret, const char *text, char *errmsg)
{
    ret->polling = text != NULL && strcmp(text, "yes") == 0;
    if (text != NULL && !ret->polling && strcmp(text, "no") != 0)
        return hf_param_complain(errmsg, "polling cannot be", text, "write yes or no");
    return 0;
}

static bool is_own(const char *part, size_t length)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strlen(own[i]) == length && memcmp(own[i], part, length) == 0)
            return true;
    return false;
}

/* Cut our own parameters out of "...?key=value&key=value". */
static void cut_own(char *url)
{
    char *part = strchr(url, '?'), *to = part;

    if (part == NULL)
        return;
    while (*part != '\0') { /* `part` is at the '?' or '&' before a parameter */
        size_t length = 1 + strcspn(part + 1, "&");
        if (!is_own(part + 1, strcspn(part + 1, "=&"))) {
            bool first = to == strchr(url, '?');
            assert(to <= part);
            memmove(to, part, length);
            *to = first ? '?' : '&';
            to += length;
        }
        part += length;
    }
    *to = '\0';
}

/* ---- Reading the URL ------------------------------------------------------------ */

/* Refuse a URL in which libpq could take a password for something else. */
static int check_shape(const struct hf_config *config, char *errmsg)
{
    const char *rest = config->given + strlen(config->scheme) + 1;

    if (strncmp(rest, "//", 2) != 0) /* the rest may start with a password */
        return hf_param_complain(errmsg, "no // in",
                                 "postgres:", "write postgres://host/database");
    const char *path = rest + 2 + strcspn(rest + 2, "/?");
    if (memchr(path, '@', strcspn(path, "?")) != NULL)
        return hf_param_complain(errmsg, "no server before the /", "@",
                                 "in a password write %2F for / and %3F for ?");
    return 0;
}

static bool is_known(const PQconninfoOption *option, const char *key)
{
    for (; option->keyword != NULL; option++)
        if (strcmp(option->keyword, key) == 0)
            return true;
    return strcmp(key, "ssl") == 0 || is_own(key, strlen(key));
}

/* libpq reads the environment itself.  In a program with more rights than its caller
 * (set-user-ID) the caller must not choose the server. */
static int refuse_variable(const char *name, char *errmsg)
{
    if (name == NULL || getenv(name) == NULL || secure_getenv(name) != NULL)
        return 0;
    snprintf(errmsg, HF_ERRMSG_MAX,
             "%s is set, and this program has more rights than its caller, who must not "
             "choose the server; unset it before hf_open()",
             name);
    return HF_EDENIED;
}

static int check_environment(const PQconninfoOption *option, char *errmsg)
{
    int r = refuse_variable("PGSERVICEFILE", errmsg);

    if (r == 0)
        r = refuse_variable("PGSYSCONFDIR", errmsg);
    for (; r == 0 && option->keyword != NULL; option++)
        r = refuse_variable(option->envvar, errmsg);
    return r;
}

/* libpq's message about a bad URL may contain the password, so we check first. */
static int check_params(const struct hf_config *config, char *errmsg)
{
    PQconninfoOption *all = PQconninfoParse("", NULL);
    const char       *bad = NULL;

    if (all == NULL)
        return HF_ENOMEM;
    for (size_t i = 0; i < config->params && bad == NULL; i++)
        if (!is_known(all, config->param[i].key))
            bad = config->param[i].key;
    int r = check_environment(all, errmsg);
    PQconninfoFree(all);
    return bad == NULL
               ? r
               : hf_param_complain(errmsg, "postgres: has no parameter", bad,
                                   "see holdfast(1), STORES, and what libpq knows");
}

static int parse_url(struct hf_pg_config *ret, const struct hf_config *config,
                     char *errmsg)
{
    char *url = strdup(config->given), *error = NULL;

    if (url == NULL)
        return HF_ENOMEM;
    cut_own(url);
    ret->option = PQconninfoParse(url, &error);
    wipe(url);
    if (ret->option == NULL && error == NULL)
        return HF_ENOMEM;
    if (error != NULL) {
        explicit_bzero(error, strlen(error));
        PQfreemem(error);
        return hf_param_complain(
            errmsg, "libpq cannot read", config->url,
            "write postgres://host:5432/database, and [host]:5432 for IPv6");
    }
    return 0;
}

int hf_pg_config_init(struct hf_pg_config *ret, const struct hf_config *config,
                      char *errmsg)
{
    *ret = (struct hf_pg_config){ 0 };
    snprintf(errmsg, HF_ERRMSG_MAX, "out of memory");
    int r = check_shape(config, errmsg);
    if (r == 0)
        r = check_params(config, errmsg);
    if (r == 0)
        r = parse_url(ret, config, errmsg);
    if (r == 0)
        r = hf_pg_config_servers(ret, errmsg);
    if (r == 0)
        r = hf_param_time(config, "ttl", TTL_MIN, &ret->ttl, errmsg);
    if (r == 0)
        r = hf_param_history(config, &ret->history, errmsg);
    if (r == 0)
        r = set_polling(ret, hf_config_get(config, "polling"), errmsg);
    if (r < 0) {
        hf_pg_config_finish(ret);
        return r;
    }
    assert(ret->servers > 0); /* libpq's default, if the URL names none */
    return 0;
}

void hf_pg_config_finish(struct hf_pg_config *config)
{
    hf_pg_options_free(config->option);
    config->option = NULL;
}
