/* diagnose_data.c - findings about our data on a Redis server: what a restart, a
 * failover or lost data would do. */
#include "store/redis/look/diagnose.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLICAS_MAX 100 /* to look at */

/* ---- A restart ---------------------------------------------------------------- */

static bool is_bad(const struct hf_redis_diagnose *diagnose, const char *key)
{
    char status[16];

    return hf_redis_setting(diagnose, key, status, sizeof status) &&
           strcmp(status, "ok") != 0;
}

static void tell_files(const struct hf_redis_diagnose *diagnose,
                       struct hf_finding_list         *list)
{
    char sync[16], save[256];
    bool knows_sync = hf_redis_setting(diagnose, "appendfsync", sync, sizeof sync);
    bool knows_save = hf_redis_setting(diagnose, "save", save, sizeof save);
    bool aof = hf_redis_setting_number(diagnose, "aof_enabled", 0) != 0;

    if (aof && !knows_sync)
        hf_finding_add(
            list, HF_FINE, "persistence", NULL,
            "an append-only file; this user may not read how often it is fsynced");
    else if (aof)
        hf_finding_add(list, HF_FINE, "persistence", NULL,
                       "an append-only file, fsynced %s: %s",
                       strcmp(sync, "always") == 0     ? "at every write"
                       : strcmp(sync, "everysec") == 0 ? "every second"
                                                       : "when the kernel decides",
                       strcmp(sync, "always") == 0
                           ? "nothing is lost"
                           : "if the machine fails, the last writes are lost");
    else if (!knows_save || save[0] != '\0')
        hf_finding_add(
            list, HF_FINE, "persistence", NULL,
            "no append-only file; %s: a crash loses all writes since the last one",
            knows_save ? "snapshots" : "maybe snapshots");
    else
        hf_finding_add(
            list, HF_WARNING, "persistence",
            "appendonly yes in its redis.conf, if it has a disk",
            "none: a restart loses everything; live holders reclaim their locks, tokens "
            "go on from the clock");
}

/* How long a grace period would last: the longest ttl of all sessions that lock, or
 * ours. */
static hf_time grace_of(const struct hf_redis          *redis,
                        const struct hf_redis_diagnose *diagnose)
{
    return diagnose->longest > redis->config.ttl ? diagnose->longest : redis->config.ttl;
}

static void tell_persistence(const struct hf_redis          *redis,
                             const struct hf_redis_diagnose *diagnose,
                             struct hf_finding_list         *list)
{
    if (hf_redis_setting_number(diagnose, "aof_enabled", -1) < 0)
        hf_finding_add(list, HF_WARNING, "persistence",
                       "let this user call INFO persistence",
                       "this user may not read whether it persists data");
    else
        tell_files(diagnose, list);
    if (is_bad(diagnose, "aof_last_write_status") ||
        is_bad(diagnose, "rdb_last_bgsave_status"))
        hf_finding_add(list, HF_WARNING, "saving", "see its log; is its disk full?",
                       "the last attempt failed; the server may refuse all writes");
    hf_finding_add(
        list, HF_FINE, "restart", NULL,
        "holders keep their locks, because they reclaim them; for %g s nobody else is "
        "granted anything",
        hf_seconds(grace_of(redis, diagnose)));
}

/* ---- A failover --------------------------------------------------------------- */

/* "slave0:ip=127.0.0.1,port=6380,state=online,offset=14,lag=1": counts replicas that are
 * online.  `lag`: seconds since the slowest of them last reported to the master. */
static int count_online(const struct hf_redis_diagnose *diagnose, long long *lag)
{
    int  online = 0;
    char key[24], text[256];

    *lag = 0;
    for (int i = 0; i < REPLICAS_MAX; i++) {
        snprintf(key, sizeof key, "slave%d", i);
        if (!hf_redis_setting(diagnose, key, text, sizeof text))
            break;
        const char *heard = strstr(text, "lag=");
        online += strstr(text, "state=online") != NULL;
        if (heard != NULL && strtoll(heard + 4, NULL, 10) > *lag)
            *lag = strtoll(heard + 4, NULL, 10);
    }
    return online;
}

/* A master that is cut off must stop writing, or two clients could hold the same lock.
 * Is it configured to need replicas?  INFO has min_slaves_good_slaves only in that
 * case. */
static bool has_limit(const struct hf_redis_diagnose *diagnose)
{
    return hf_redis_setting_number(diagnose, "min-replicas-to-write", 0) > 0 ||
           hf_redis_setting_number(diagnose, "min_slaves_good_slaves", -1) >= 0;
}

static void tell_failover(const struct hf_redis          *redis,
                          const struct hf_redis_diagnose *diagnose,
                          struct hf_finding_list         *list)
{
    int wanted = redis->config.replicas;

    if (wanted > 0)
        hf_finding_add(
            list, HF_FINE, "failover", NULL,
            "every grant is on %d replica%s; other recent writes may be lost, and are "
            "reclaimed",
            wanted, wanted > 1 ? "s" : "");
    else
        hf_finding_add(
            list, HF_WARNING, "failover",
            "?replicas=1: then a grant counts only once a replica has it",
            "recent writes may be lost: live holders reclaim their locks, and meanwhile "
            "nobody is granted anything");
    if (redis->config.service[0] != '\0')
        hf_finding_add(
            list, HF_FINE, "partition", NULL,
            "locks on a master that is cut off expire before a new master, named by "
            "most Sentinels, grants anything");
    else if (has_limit(diagnose))
        hf_finding_add(list, HF_FINE, "partition", NULL,
                       "a master that is cut off from its replicas stops writing");
    else
        hf_finding_add(
            list, HF_WARNING, "partition",
            "min-replicas-to-write 1 on all of them, and min-replicas-max-lag "
            "shorter than a failover takes",
            "a master that is cut off from its replicas goes on: if one of them "
            "takes over, two may hold the same lock");
}

static void tell_replicas(const struct hf_redis          *redis,
                          const struct hf_redis_diagnose *diagnose,
                          struct hf_finding_list         *list)
{
    long long count = hf_redis_setting_number(diagnose, "connected_slaves", -1), lag;
    int       online = count_online(diagnose, &lag), wanted = redis->config.replicas;

    if (count < 0)
        return;
    if (online < wanted)
        hf_finding_add(
            list, HF_FAULT, "replicas",
            "start them, or ask for fewer by replicas= in the URL",
            "%d online, but the URL wants %d to have every grant: nobody gets a lock",
            online, wanted);
    else if (count == 0)
        hf_finding_add(list, HF_FINE, "replicas", NULL,
                       "none: without this server there are no locks");
    else
        hf_finding_add(list, online < count ? HF_WARNING : HF_FINE, "replicas",
                       online < count ? "see the log of the one that is not online"
                                      : NULL,
                       "%lld, %d online; the slowest was last seen %lld s ago", count,
                       online, lag + 1);
    if (count > 0)
        tell_failover(redis, diagnose, list);
}

/* ---- Our data ----------------------------------------------------------------- */

/* No client has locked since data were lost, or ever.  How long will the first one that
 * does have to wait? */
static hf_time coming_grace(const struct hf_redis          *redis,
                            const struct hf_redis_diagnose *diagnose,
                            const redisReply               *reply)
{
    switch (hf_redis_number(reply, HF_REDIS_ANSWER_READ_ONLY)) {
    case 0:
        return 0;
    case 1:
        return grace_of(redis, diagnose);
    default:
        return hf_redis_blank_grace(redis, diagnose->canary);
    }
}

static void tell_grace(const struct hf_redis          *redis,
                       const struct hf_redis_diagnose *diagnose, const redisReply *reply,
                       struct hf_finding_list *list)
{
    const char *place = hf_redis_text(reply, HF_REDIS_ANSWER_LONGEST);
    const char *note = place != NULL ? strchr(place, '\n') : NULL;
    int64_t     left = hf_redis_number(reply, HF_REDIS_ANSWER_GRACE);
    int64_t     since = hf_redis_number(reply, HF_REDIS_ANSWER_NOW) -
                    hf_redis_number(reply, HF_REDIS_ANSWER_EPOCH);
    hf_time coming = coming_grace(redis, diagnose, reply);

    if (left > 0)
        hf_finding_add(
            list, HF_WARNING, "grace period",
            "wait: it ends by itself, once every holder has come back or expired",
            "data were lost, or may have been, %.1f s ago (restart, failover, "
            "FLUSHALL): nobody is granted anything for another %.1f s",
            (double)since / 1e6, (double)left / 1e6);
    else if (coming > 0)
        hf_finding_add(
            list, HF_WARNING, "grace period",
            "wait: it ends by itself, a ttl after the first client that locks has come",
            "data were lost, or may have been (restart, failover, FLUSHALL), and nobody "
            "has locked since; the first client that does waits %g s, as do all others",
            hf_seconds(coming));
    else
        hf_finding_add(list, HF_FINE, "grace period", NULL,
                       "none now; if data are lost it lasts %g s: %s%.150s",
                       hf_seconds(grace_of(redis, diagnose)),
                       diagnose->longest <= redis->config.ttl
                           ? "no client that locks has a longer ttl than ours"
                       : note != NULL ? "the ttl of "
                                      : "the ttl of a client that has no place now",
                       diagnose->longest > redis->config.ttl && note != NULL ? note + 1
                                                                             : "");
}

/* Tokens are microseconds of the server's clock, unless the last one was higher.  A grace
 * period begins with those of its end. */
static void tell_tokens(const redisReply *reply, struct hf_finding_list *list)
{
    int64_t token = hf_redis_number(reply, HF_REDIS_ANSWER_TOKEN);
    int64_t grace = hf_redis_number(reply, HF_REDIS_ANSWER_GRACE);
    double  ahead = (double)(token - hf_redis_number(reply, HF_REDIS_ANSWER_NOW)) / 1e6;

    if (ahead > (double)grace / 1e6 + 1)
        hf_finding_add(
            list, HF_WARNING, "tokens",
            "keep that clock right: if all data and all clients were lost now, tokens "
            "would fall back",
            "above %" PRId64 ", %.0f s ahead of the server's clock, which was set back",
            token, ahead);
    else
        hf_finding_add(list, HF_FINE, "tokens", NULL, "above %" PRId64, token);
}

static void tell_line(const redisReply *reply, const char *name,
                      struct hf_finding_list *list)
{
    int64_t foreign = hf_redis_number(reply, HF_REDIS_ANSWER_FOREIGN);

    hf_finding_add(list, HF_FINE, "line", NULL,
                   "%" PRId64 " hold \"%s\", %" PRId64 " wait",
                   hf_redis_number(reply, HF_REDIS_ANSWER_NAME_HOLDERS), name,
                   hf_redis_number(reply, HF_REDIS_ANSWER_NAME_WAITERS));
    if (foreign > 0)
        hf_finding_add(
            list, HF_FINE, "claim", NULL,
            "another program's, by a plain SET; it ends in %.1f s at the earliest",
            (double)foreign / 1e6);
    else if (foreign < 0)
        hf_finding_add(list, HF_FINE, "claim", NULL,
                       "another program's, by a plain SET; it never expires");
}

void hf_redis_data_tell(const struct hf_redis          *redis,
                        const struct hf_redis_diagnose *diagnose, const redisReply *reply,
                        const char *name, struct hf_finding_list *list)
{
    tell_persistence(redis, diagnose, list);
    tell_replicas(redis, diagnose, list);
    tell_grace(redis, diagnose, reply, list);
    tell_tokens(reply, list);
    hf_finding_add(list, HF_FINE, "keys", NULL, "%s:... in database %d",
                   redis->config.prefix, redis->config.db);
    hf_finding_add(list, HF_FINE, "lines", NULL,
                   "%" PRId64 " sessions, ours included; %" PRId64 " hold, %" PRId64
                   " wait",
                   hf_redis_number(reply, HF_REDIS_ANSWER_SESSIONS),
                   hf_redis_number(reply, HF_REDIS_ANSWER_HOLDERS),
                   hf_redis_number(reply, HF_REDIS_ANSWER_WAITERS));
    if (name != NULL)
        tell_line(reply, name, list);
}
