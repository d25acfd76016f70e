/* store.c - the stores built in, found by the scheme of a URL. */
#include "store/store.h"

#include "base/fork.h"
#include "holdfast.h"
#ifdef HF_STORE_MARIADB
#include "store/mariadb/mariadb.h"
#endif
#include "store/memory/memory.h"
#ifdef HF_STORE_POSTGRES
#include "store/postgres/postgres.h"
#endif
#ifdef HF_STORE_REDIS
#include "store/redis/redis.h"
#endif
#include "store/sqlite/sqlite.h"
#ifdef HF_STORE_ZOOKEEPER
#include "store/zookeeper/zookeeper.h"
#endif

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The build decides which; SQLite and memory are always built. */
static const struct hf_store_impl *const stores[] = {
    &hf_sqlite_store,     &hf_memory_store,
#ifdef HF_STORE_ZOOKEEPER
    &hf_zk_store,         &hf_zks_store,
#endif
#ifdef HF_STORE_REDIS
    &hf_redis_store,      &hf_rediss_store,
    &hf_redis_unix_store, &hf_redis_sentinel_store,
#endif
#ifdef HF_STORE_POSTGRES
    &hf_postgres_store,   &hf_postgresql_store,
#endif
#ifdef HF_STORE_MARIADB
    &hf_mariadb_store,    &hf_mysql_store,
#endif
};

static const char schemes[] = "sqlite system memory"
#ifdef HF_STORE_ZOOKEEPER
                              " zk zks"
#endif
#ifdef HF_STORE_REDIS
                              " redis rediss redis+unix redis+sentinel"
#endif
#ifdef HF_STORE_POSTGRES
                              " postgres postgresql"
#endif
#ifdef HF_STORE_MARIADB
                              " mariadb mysql"
#endif
    ;

#define COUNT (sizeof stores / sizeof *stores)

const char *hf_store_schemes(void)
{
    return schemes;
}

const char *hf_config_get(const struct hf_config *config, const char *key)
{
    for (size_t i = 0; i < config->params; i++)
        if (strcmp(config->param[i].key, key) == 0)
            return config->param[i].value;
    return NULL;
}

static bool has_param(const struct hf_store_impl *impl, const char *key)
{
    for (size_t i = 0; impl->params[i] != NULL; i++)
        if (strcmp(impl->params[i], key) == 0)
            return true;
    return false;
}

static const struct hf_store_impl *find_impl(const char *scheme)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(stores[i]->scheme, scheme) == 0)
            return stores[i];
    return NULL;
}

int hf_store_schema(const char *scheme, const char *role, char **ret)
{
    const struct hf_store_impl *impl = find_impl(scheme);
    char                       *text = NULL;

    if (impl == NULL)
        return HF_EUNSUPPORTED;
    if (impl->schema != NULL && (text = impl->schema(role)) == NULL)
        return HF_ENOMEM;
    *ret = text;
    return 0;
}

static int explain_unknown(const struct hf_config *config, char *errmsg)
{
    snprintf(errmsg, HF_ERRMSG_MAX, "no store of kind \"%s:\" is built in; there are: %s",
             config->scheme, schemes);
    return HF_EUNSUPPORTED;
}

static int load_impl(const struct hf_store_impl *impl, char *errmsg)
{
    return impl->load != NULL ? impl->load(impl->scheme, errmsg, HF_ERRMSG_MAX) : 0;
}

int hf_store_load(const struct hf_config *config, char *errmsg)
{
    const struct hf_store_impl *impl = find_impl(config->scheme);

    return impl != NULL ? load_impl(impl, errmsg) : explain_unknown(config, errmsg);
}

static int check_params(const struct hf_store_impl *impl, const struct hf_config *config,
                        char *errmsg)
{
    for (size_t i = 0; i < config->params; i++) {
        const char *key = config->param[i].key;
        bool        known = impl->any || has_param(impl, key);
        if (known && hf_config_get(config, key) == config->param[i].value)
            continue;
        bool history = strcmp(key, "history") == 0;
        if (strchr(config->given, '@') != NULL)
            key = "..."; /* it may be part of a password */
        if (known)
            snprintf(errmsg, HF_ERRMSG_MAX,
                     "store URL: parameter \"%s\" is given twice; write it once", key);
        else if (history)
            snprintf(errmsg, HF_ERRMSG_MAX, "a store of kind %s: keeps no history",
                     config->scheme);
        else
            snprintf(errmsg, HF_ERRMSG_MAX,
                     "store URL: %s: has no parameter \"%s\"; see holdfast(1), STORES",
                     config->scheme, key);
        return HF_EINVAL;
    }
    return 0;
}

int hf_store_open(const struct hf_config *config, char *errmsg, struct hf_store **ret)
{
    const struct hf_store_impl *impl = find_impl(config->scheme);

    if (impl == NULL)
        return explain_unknown(config, errmsg);
    if (config->key != NULL && impl->key == NULL) {
        snprintf(errmsg, HF_ERRMSG_MAX, "sessions in %s: have no key", config->scheme);
        return HF_EUNSUPPORTED;
    }
    if (config->user != NULL && !impl->users) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "store URL: %s: takes no user; write %%40 for an @ in a name",
                 config->scheme);
        return HF_EINVAL;
    }
    int r = check_params(impl, config, errmsg);
    if (r == 0)
        r = load_impl(impl, errmsg);
    if (r < 0)
        return r;
    assert(impl->submit != NULL && impl->cancel != NULL && impl->process != NULL);
    hf_low_take();
    r = impl->open(config, errmsg, ret);
    hf_low_give();
    assert(r < 0 || (*ret)->impl->close != NULL);
    assert(r < 0 || (*ret)->fd >= 0); /* it never changes, so that it can be polled */
    return r;
}
