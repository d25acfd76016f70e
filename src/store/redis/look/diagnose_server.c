/* diagnose_server.c - findings about a Redis server and the connection to it. */
#include "store/redis/look/diagnose.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB          (1024.0 * 1024.0)
#define NEARLY_FULL 0.9 /* of maxmemory */

/* ---- The server --------------------------------------------------------------- */

static void tell_redis_server(const struct hf_redis          *redis,
                              const struct hf_redis_diagnose *diagnose,
                              struct hf_finding_list         *list)
{
    char name[300], version[32];
    bool valkey = hf_redis_setting(diagnose, "valkey_version", version, sizeof version);

    if (!valkey)
        snprintf(version, sizeof version, "%s", redis->link.info.version);
    hf_finding_add(list, HF_FINE, "server", NULL, "%s, %s %s, by %s",
                   hf_dial_show(redis->remote.dial, name, sizeof name),
                   valkey ? "Valkey" : "Redis", version,
                   redis->config.path[0] != '\0' ? "a Unix socket"
                   : redis->tls != NULL          ? "TLS"
                                                 : "TCP");
    hf_finding_add(list, HF_FINE, "round trip", NULL,
                   "all of this was answered in %.1f ms",
                   (double)diagnose->took / (double)HF_MS);
}

static void tell_how_found(const struct hf_redis          *redis,
                           const struct hf_redis_diagnose *diagnose,
                           struct hf_finding_list         *list)
{
    const struct hf_redis_config *config = &redis->config;
    char                          mode[16];

    if (config->service[0] != '\0')
        hf_finding_add(list, config->servers > 1 ? HF_FINE : HF_WARNING, "sentinel",
                       config->servers > 1 ? NULL
                                           : "name all of them: "
                                             "redis+sentinel://host,host,host/SERVICE",
                       "it is the master of \"%s\"; %zu Sentinel%s in the URL",
                       config->service, config->servers, config->servers > 1 ? "s" : "");
    if (hf_redis_setting(diagnose, "redis_mode", mode, sizeof mode) &&
        strcmp(mode, "cluster") == 0)
        hf_finding_add(list, HF_FINE, "cluster", NULL,
                       "all keys of %s are in one slot, so on one server at a time",
                       config->prefix);
}

/* ---- The way there ------------------------------------------------------------ */

/* Permissions need no check: we could open our session. */
static void tell_way(const struct hf_redis *redis, struct hf_finding_list *list)
{
    const struct hf_redis_config *config = &redis->config;
    bool                          near = hf_address_is_local(&redis->remote.dial->at.at);
    bool                          known = config->password != NULL;

    if (known)
        hf_finding_add(list, HF_FINE, "identity", NULL, "user %s, by password",
                       config->user != NULL ? config->user : "default");
    else
        hf_finding_add(
            list, near || redis->tls != NULL ? HF_FINE : HF_WARNING, "identity",
            near || redis->tls != NULL
                ? NULL
                : "set a password there, best for a user with only the rights that "
                  "docs/redis.md lists",
            "none: no password is needed");
    if (redis->tls != NULL)
        hf_finding_add(list, HF_FINE, "encryption", NULL,
                       "TLS; the server's certificate is verified");
    else if (near)
        hf_finding_add(list, HF_FINE, "encryption", NULL,
                       "none, and not needed: this host");
    else
        hf_finding_add(list, HF_WARNING, "encryption",
                       "use rediss: and the server's tls-port",
                       "none: on the network %snotes can be read and locks be taken over",
                       known ? "the password and " : "");
}

/* ---- Session and clock -------------------------------------------------------- */

static void tell_redis_session(const struct hf_redis          *redis,
                               const struct hf_redis_diagnose *diagnose,
                               struct hf_finding_list         *list)
{
    hf_time left = redis->served.base.alive_until - hf_now();
    hf_time ttl = redis->config.ttl, longest = diagnose->longest;

    hf_finding_add(list, longest > ttl ? HF_WARNING : HF_FINE, "session",
                   longest > ttl ? "give all clients of this prefix the same ttl" : NULL,
                   "%g s: how long a dead holder blocks others%s", hf_seconds(ttl),
                   longest > ttl ? "; other clients use a longer one, see grace period"
                                 : "");
    hf_finding_add(
        list, left > 0 ? HF_FINE : HF_WARNING, "deadline", NULL,
        "our locks are ours for another %.1f s, even if the server falls silent",
        left > 0 ? hf_seconds(left) : 0.0);
}

/* Leases are counted by the server's clock, and tokens come from it. */
static void tell_clock(const struct hf_redis          *redis,
                       const struct hf_redis_diagnose *diagnose,
                       struct hf_finding_list         *list)
{
    double off = (double)diagnose->ahead / 1e6;
    bool   far =
        off > hf_seconds(redis->config.ttl) || -off > hf_seconds(redis->config.ttl);

    hf_finding_add(
        list, far ? HF_WARNING : HF_FINE, "clock",
        far ? "keep both clocks right by slewing: tokens come from the server's, and if "
              "that is set forward, leases end early"
            : NULL,
        "the server's is %.3f s %s ours; leases rely on its rate, and on its never "
        "being set forward",
        off < 0 ? -off : off, off < 0 ? "behind" : "ahead of");
}

/* ---- Memory ------------------------------------------------------------------- */

static void tell_eviction(const struct hf_redis_diagnose *diagnose,
                          struct hf_finding_list         *list)
{
    long long most = hf_redis_setting_number(diagnose, "maxmemory", -1);
    long long used = hf_redis_setting_number(diagnose, "used_memory", 0);
    char      policy[32];

    if (!hf_redis_setting(diagnose, "maxmemory_policy", policy, sizeof policy) ||
        most < 0)
        return;
    if (most == 0) {
        hf_finding_add(list, HF_FINE, "eviction", NULL,
                       "nothing is evicted: no maxmemory");
    } else if (strcmp(policy, "noeviction") != 0) {
        bool claims = strncmp(policy, "volatile-", 9) == 0;
        hf_finding_add(
            list, HF_WARNING, "eviction",
            "set maxmemory-policy noeviction there, or keep locks on another server",
            "%s may be evicted (maxmemory-policy %s), as the URL allows it: then "
            "%s",
            claims ? "claims" : "all locks", policy,
            claims ? "the holder loses it" : "the effect is that of FLUSHALL");
    } else {
        bool full = (double)used > NEARLY_FULL * (double)most;
        hf_finding_add(list, full ? HF_WARNING : HF_FINE, "eviction",
                       full ? "raise maxmemory" : NULL,
                       "nothing is evicted (noeviction); %.0f of %.0f MB are used%s",
                       (double)used / MB, (double)most / MB,
                       full ? ", and when it is full nobody gets a lock" : "");
    }
}

void hf_redis_server_tell(const struct hf_redis          *redis,
                          const struct hf_redis_diagnose *diagnose,
                          struct hf_finding_list         *list)
{
    assert(redis->remote.dial->phase >= HF_DIAL_GREETING); /* it has just answered */
    tell_redis_server(redis, diagnose, list);
    tell_how_found(redis, diagnose, list);
    tell_way(redis, list);
    tell_redis_session(redis, diagnose, list);
    tell_clock(redis, diagnose, list);
    tell_eviction(diagnose, list);
}
