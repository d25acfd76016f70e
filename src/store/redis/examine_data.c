/* examine_data.c - what doctor tells of our data on a Redis server, and of what restart,
 * failover and loss do to them. */
#include "store/redis/examine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLICAS_MAX 100 /* to look at */

/* ---- A restart ------------------------------------------------------------------ */

static bool is_bad(const struct hf_redis_examine *examine, const char *key)
{
    char status[16];

    return hf_redis_told(examine, key, status, sizeof status) &&
           strcmp(status, "ok") != 0;
}

static void tell_files(const struct hf_redis_examine *examine,
                       struct hf_finding_list        *list)
{
    char sync[16], save[256];
    bool knows_sync = hf_redis_told(examine, "appendfsync", sync, sizeof sync);
    bool knows_save = hf_redis_told(examine, "save", save, sizeof save);
    bool aof = hf_redis_told_number(examine, "aof_enabled", 0) != 0;

    if (aof && !knows_sync)
        hf_finding_add(
            list, HF_FINE, "persistence", NULL,
            "an append-only file; how often it is synced this user may not ask");
    else if (aof)
        hf_finding_add(list, HF_FINE, "persistence", NULL,
                       "an append-only file, synced %s: %s",
                       strcmp(sync, "always") == 0     ? "at every write"
                       : strcmp(sync, "everysec") == 0 ? "every second"
                                                       : "when the kernel likes to",
                       strcmp(sync, "always") == 0
                           ? "nothing is lost"
                           : "if the machine fails, what was written last is lost");
    else if (!knows_save || save[0] != '\0')
        hf_finding_add(
            list, HF_FINE, "persistence", NULL,
            "no append-only file; %s: what was written since the last is lost in a "
            "crash",
            knows_save ? "snapshots" : "maybe snapshots");
    else
        hf_finding_add(
            list, HF_WARNING, "persistence",
            "appendonly yes in its redis.conf, if it has a disk",
            "none: a restart forgets all; holders that live put theirs down again, "
            "tokens go on from the clock");
}

/* With data, how long a hold-off would be: as the longest ttl of all who lock.  We do not. */
static hf_time hold_off_of(const struct hf_redis         *redis,
                           const struct hf_redis_examine *examine)
{
    return examine->longest > redis->config.ttl ? examine->longest : redis->config.ttl;
}

static void tell_persistence(const struct hf_redis         *redis,
                             const struct hf_redis_examine *examine,
                             struct hf_finding_list        *list)
{
    if (hf_redis_told_number(examine, "aof_enabled", -1) < 0)
        hf_finding_add(list, HF_WARNING, "persistence",
                       "let this user call INFO persistence",
                       "it does not tell whether it keeps data");
    else
        tell_files(examine, list);
    if (is_bad(examine, "aof_last_write_status") ||
        is_bad(examine, "rdb_last_bgsave_status"))
        hf_finding_add(
            list, HF_WARNING, "saving", "see its log; is its disk full?",
            "it could not be done the last time; then it may refuse all writes");
    hf_finding_add(
        list, HF_FINE, "restart", NULL,
        "holders keep what they have, for they put it down again; for %g s nobody "
        "else is granted anything",
        hf_seconds(hold_off_of(redis, examine)));
}

/* ---- A failover ----------------------------------------------------------------- */

/* "slave0:ip=127.0.0.1,port=6380,state=online,offset=14,lag=1": how many are online, and
 * how many seconds ago the last of them was heard of. */
static int count_online(const struct hf_redis_examine *examine, long long *lag)
{
    int  online = 0;
    char key[24], text[256];

    *lag = 0;
    for (int i = 0; i < REPLICAS_MAX; i++) {
        snprintf(key, sizeof key, "slave%d", i);
        if (!hf_redis_told(examine, key, text, sizeof text))
            break;
        const char *heard = strstr(text, "lag=");
        online += strstr(text, "state=online") != NULL;
        if (heard != NULL && strtoll(heard + 4, NULL, 10) > *lag)
            *lag = strtoll(heard + 4, NULL, 10);
    }
    return online;
}

/* What a server that is cut off must not do is to go on: then two could hold a lock.
 * Does it say how many replicas it needs?  INFO has min_slaves_good_slaves only if
 * so. */
static bool has_limit(const struct hf_redis_examine *examine)
{
    return hf_redis_told_number(examine, "min-replicas-to-write", 0) > 0 ||
           hf_redis_told_number(examine, "min_slaves_good_slaves", -1) >= 0;
}

static void tell_failover(const struct hf_redis         *redis,
                          const struct hf_redis_examine *examine,
                          struct hf_finding_list        *list)
{
    int wanted = redis->config.replicas;

    if (wanted > 0)
        hf_finding_add(
            list, HF_FINE, "failover", NULL,
            "every grant is known to %d replica%s; what else was written last may "
            "be lost, and is put down again",
            wanted, wanted > 1 ? "s" : "");
    else
        hf_finding_add(
            list, HF_WARNING, "failover",
            "?replicas=1: then a grant counts when a replica has heard of it",
            "what was written last may be lost: holders that live put theirs down "
            "again, and meanwhile nobody is granted anything");
    if (redis->config.service[0] != '\0')
        hf_finding_add(
            list, HF_FINE, "partition", NULL,
            "what is held by a master that is cut off ends before another one, "
            "which most Sentinels name, grants anything");
    else if (has_limit(examine))
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

static void tell_replicas(const struct hf_redis         *redis,
                          const struct hf_redis_examine *examine,
                          struct hf_finding_list        *list)
{
    long long count = hf_redis_told_number(examine, "connected_slaves", -1), lag;
    int       online = count_online(examine, &lag), wanted = redis->config.replicas;

    if (count < 0)
        return;
    if (online < wanted)
        hf_finding_add(
            list, HF_FAULT, "replicas",
            "start them, or ask for fewer by replicas= in the URL",
            "%d online, but the URL wants %d to know of every grant: nobody gets a "
            "lock",
            online, wanted);
    else if (count == 0)
        hf_finding_add(list, HF_FINE, "replicas", NULL,
                       "none: without this server there are no locks");
    else
        hf_finding_add(list, online < count ? HF_WARNING : HF_FINE, "replicas",
                       online < count ? "see the log of the one that is not online"
                                      : NULL,
                       "%lld, %d online; all heard of within %lld s", count, online,
                       lag + 1);
    if (count > 0)
        tell_failover(redis, examine, list);
}

/* ---- Our data ------------------------------------------------------------------- */

static void tell_hold_off(const struct hf_redis         *redis,
                          const struct hf_redis_examine *examine, const redisReply *reply,
                          struct hf_finding_list *list)
{
    const char *place = hf_redis_text(reply, HF_REDIS_TOLD_LONGEST);
    const char *note = place != NULL ? strchr(place, '\n') : NULL;
    int64_t     left = hf_redis_number(reply, HF_REDIS_TOLD_HOLD);
    int64_t     since = hf_redis_number(reply, HF_REDIS_TOLD_NOW) -
                    hf_redis_number(reply, HF_REDIS_TOLD_EPOCH);

    if (left > 0)
        hf_finding_add(
            list, HF_WARNING, "hold-off",
            "wait: it ends by itself, when all who held anything have come back or "
            "given up",
            "data were lost, or may have been, %.1f s ago (restart, failover, "
            "FLUSHALL): nobody is granted anything for another %.1f s",
            (double)since / 1e6, (double)left / 1e6);
    else if (hf_redis_number(reply, HF_REDIS_TOLD_LOOKED) != 0)
        hf_finding_add(
            list, HF_WARNING, "hold-off",
            "wait: it ends by itself, a ttl after the first client that locks has come",
            "data were lost, or may have been (restart, failover, FLUSHALL): nobody has locked "
            "since; the first that does waits for %g s, and so do all others",
            hf_seconds(hold_off_of(redis, examine)));
    else
        hf_finding_add(list, HF_FINE, "hold-off", NULL,
                       "none now; should data be lost it lasts %g s: %s%.150s",
                       hf_seconds(hold_off_of(redis, examine)),
                       examine->longest <= redis->config.ttl
                           ? "nobody who locks has a longer ttl than ours"
                       : note != NULL ? "the ttl of "
                                      : "the ttl of a client that has no place now",
                       examine->longest > redis->config.ttl && note != NULL ? note + 1
                                                                            : "");
}

/* Tokens are microseconds of the server's clock, unless that would be less than before. */
static void tell_tokens(const redisReply *reply, struct hf_finding_list *list)
{
    int64_t token = hf_redis_number(reply, HF_REDIS_TOLD_TOKEN);
    double  ahead = (double)(token - hf_redis_number(reply, HF_REDIS_TOLD_NOW)) / 1e6;

    if (ahead > 1)
        hf_finding_add(
            list, HF_WARNING, "tokens",
            "keep that clock right: if all data were lost now, and every client with "
            "them, tokens would fall back",
            "above %" PRId64 ", %.0f s ahead of the server's clock: that was set back",
            token, ahead);
    else
        hf_finding_add(list, HF_FINE, "tokens", NULL, "above %" PRId64, token);
}

static void tell_line(const redisReply *reply, const char *name,
                      struct hf_finding_list *list)
{
    int64_t foreign = hf_redis_number(reply, HF_REDIS_TOLD_FOREIGN);

    hf_finding_add(list, HF_FINE, "line", NULL,
                   "%" PRId64 " hold \"%s\", %" PRId64 " wait",
                   hf_redis_number(reply, HF_REDIS_TOLD_NAME_HOLDERS), name,
                   hf_redis_number(reply, HF_REDIS_TOLD_NAME_WAITERS));
    if (foreign > 0)
        hf_finding_add(
            list, HF_FINE, "claim", NULL,
            "another program's, by a plain SET; it ends in %.1f s at the earliest",
            (double)foreign / 1e6);
    else if (foreign < 0)
        hf_finding_add(list, HF_FINE, "claim", NULL,
                       "another program's, by a plain SET; it has no end");
}

void hf_redis_data_tell(const struct hf_redis         *redis,
                        const struct hf_redis_examine *examine, const redisReply *reply,
                        const char *name, struct hf_finding_list *list)
{
    tell_persistence(redis, examine, list);
    tell_replicas(redis, examine, list);
    tell_hold_off(redis, examine, reply, list);
    tell_tokens(reply, list);
    hf_finding_add(list, HF_FINE, "keys", NULL, "%s:... in database %d",
                   redis->config.prefix, redis->config.db);
    hf_finding_add(list, HF_FINE, "lines", NULL,
                   "%" PRId64 " sessions, ours included; %" PRId64 " hold, %" PRId64
                   " wait",
                   hf_redis_number(reply, HF_REDIS_TOLD_SESSIONS),
                   hf_redis_number(reply, HF_REDIS_TOLD_HOLDERS),
                   hf_redis_number(reply, HF_REDIS_TOLD_WAITERS));
    if (name != NULL)
        tell_line(reply, name, list);
}
