/* sentinel.c - the Sentinels, which say which server is the master.
 *
 * All of them are asked with every renewal, because a master that was replaced does not
 * know it: for ten seconds or more after a planned failover, otherwise for as long as
 * it is cut off.  We use the master that a majority names.  What we hold there is ours
 * for a ttl, counted from when we last asked a majority that named it.
 *
 * A master is a server and the config epoch under which it was named.  Every failover
 * has a higher one, and no Sentinel goes back to a lower one.  The server alone would not
 * do: Sentinels may go back to it before it has become a replica, and it still has the
 * data from when it was replaced.  So hello says the config epoch, and data of another
 * one are treated as any that may lack the latest writes: with a grace period.
 *
 * That is safe.  A client that moves to a new master has asked a majority, too, before
 * its hello begins the grace period there.  At least one Sentinel answered both of us,
 * and it named the old master before the new one, because no Sentinel goes back.  So
 * our question was sent before that hello, and our ttl ends before the grace period
 * does.
 *
 * A question is two commands, since no single one returns both: SENTINEL MASTER still
 * shows the old address while a failover is being completed.  Between the two the
 * Sentinel may change its mind.  So the config epoch is read first: then the question
 * was sent before the Sentinel left that one, which is all that the proof needs.  If we
 * combine it with the address of a later master, that is another master to us, which is
 * not named again, and our ttl there runs out.
 *
 * Happy path: we keep a connection to each, send a question, note the answer.
 * Failures: a Sentinel that does not answer is tried again after a pause.  Without a
 * majority the deadline is not extended; once it has passed, we give the link up.
 */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_used(const struct hf_redis *redis)
{
    return redis->config.service[0] != '\0';
}

static size_t majority(const struct hf_redis *redis)
{
    return redis->config.servers / 2 + 1;
}

/* ---- Their answers ------------------------------------------------------------ */

static bool names_master(const struct hf_redis_sentinel *sentinel,
                         const struct hf_redis_master   *master)
{
    return sentinel->named_at > 0 &&
           sentinel->master.config_epoch == master->config_epoch &&
           strcmp(sentinel->master.server.host, master->server.host) == 0 &&
           strcmp(sentinel->master.server.port, master->server.port) == 0;
}

/* A Sentinel that agrees with the majority, counting answers to questions sent at
 * `since` or later; NULL: there is no majority. */
static const struct hf_redis_sentinel *agreed(const struct hf_redis *redis, hf_time since)
{
    const struct hf_redis_sentinel *all = redis->sentinel;

    for (size_t i = 0; i < redis->config.servers; i++) {
        size_t count = 0;
        for (size_t j = 0; j < redis->config.servers; j++)
            count += all[j].named_at >= since && names_master(&all[j], &all[i].master);
        if (all[i].named_at > 0 && count >= majority(redis))
            return &all[i];
    }
    return NULL;
}

hf_time hf_redis_sentinels_since(const struct hf_redis *redis)
{
    const struct hf_redis_master   *here = &redis->link.master;
    const struct hf_redis_sentinel *all = redis->sentinel;
    hf_time                         since = 0;

    assert(is_used(redis));
    for (size_t i = 0; i < redis->config.servers; i++) {
        size_t count = 0;
        for (size_t j = 0; j < redis->config.servers; j++)
            count += all[j].named_at >= all[i].named_at && names_master(&all[j], here);
        if (count >= majority(redis) && names_master(&all[i], here) &&
            all[i].named_at > since)
            since = all[i].named_at;
    }
    return since;
}

/* ---- Questions ---------------------------------------------------------------- */

static void send_question(struct hf_redis *redis, struct hf_redis_sentinel *sentinel);

/* In the reply to SENTINEL MASTER, every name is followed by its value. */
static bool take_config_epoch(struct hf_redis_sentinel *sentinel, const redisReply *reply)
{
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *name = reply->element[i], *value = reply->element[i + 1];
        if (name->type == REDIS_REPLY_STRING && value->type == REDIS_REPLY_STRING &&
            strcmp(name->str, "config-epoch") == 0) {
            sentinel->config_epoch = strtoull(value->str, NULL, 10);
            return true;
        }
    }
    return false;
}

static bool take_name(struct hf_redis_sentinel *sentinel, const redisReply *reply)
{
    const redisReply *host = reply->element[0], *port = reply->element[1];
    struct hf_server *master = &sentinel->master.server;

    if (host->type != REDIS_REPLY_STRING || port->type != REDIS_REPLY_STRING ||
        host->len == 0 || host->len >= sizeof master->host ||
        port->len >= sizeof master->port || atoi(port->str) <= 0)
        return false;
    snprintf(master->host, sizeof master->host, "%s", host->str);
    snprintf(master->port, sizeof master->port, "%s", port->str);
    sentinel->master.config_epoch = sentinel->config_epoch;
    sentinel->named_at = sentinel->call[0].sent;
    return true;
}

static hf_time next_question(const struct hf_redis          *redis,
                             const struct hf_redis_sentinel *sentinel)
{
    hf_time soon =
        redis->config.ttl / 10 < 250 * HF_MS ? redis->config.ttl / 10 : 250 * HF_MS;
    bool agrees = redis->remote.dial->phase == HF_DIAL_READY &&
                  names_master(sentinel, &redis->link.master);

    return agrees ? sentinel->call[0].sent + redis->config.ttl / 3
                  : redis->remote.now + soon;
}

/* It has answered as a Sentinel does. */
static void plan_question(struct hf_redis *redis, struct hf_redis_sentinel *sentinel)
{
    struct hf_dial *dial = &sentinel->conn.dial;

    assert(dial->phase >= HF_DIAL_GREETING);
    if (dial->phase == HF_DIAL_GREETING)
        hf_dial_ready(dial);
    sentinel->due = next_question(redis, sentinel);
}

/* What an error means is decided when the second command is answered. */
static void on_config_epoch(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_sentinel *sentinel = data;
    char                      why[HF_ERRMSG_MAX] = "does not tell its config epoch";

    (void)redis;
    sentinel->has_config_epoch = reply != NULL && reply->type == REDIS_REPLY_ARRAY &&
                                 take_config_epoch(sentinel, reply);
    hf_redis_fault_text(reply, why, sizeof why);
    if (reply != NULL && !sentinel->has_config_epoch)
        hf_dial_say(&sentinel->conn.dial, why);
}

static void on_master_named(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_sentinel *sentinel = data;
    struct hf_dial           *dial = &sentinel->conn.dial;
    char                      why[HF_ERRMSG_MAX], server_text[HF_ERRMSG_MAX];

    if (reply == NULL)
        return;
    enum hf_served_fault fault =
        hf_redis_fault_text(reply, server_text, sizeof server_text);
    sentinel->unknown = reply->type == REDIS_REPLY_NIL;
    if (fault == HF_SERVED_FINE && !sentinel->unknown && !sentinel->has_config_epoch) {
        hf_dial_break(dial, NULL);
    } else if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
               take_name(sentinel, reply)) {
        hf_dial_proven(dial);
        plan_question(redis, sentinel);
    } else if (sentinel->unknown) {
        snprintf(why, sizeof why, "knows no service \"%.100s\"", redis->config.service);
        hf_dial_say(dial, why);
        sentinel->named_at = 0;
        plan_question(redis, sentinel);
    } else if (fault == HF_SERVED_DENIED && redis->config.password && !sentinel->auth) {
        sentinel->auth =
            true; /* not by default: a Sentinel without a password would refuse it */
        hf_dial_allow(dial);
        send_question(redis, sentinel);
    } else {
        snprintf(why, sizeof why, "%s%.150s",
                 fault == HF_SERVED_DENIED ? "" : "is not a Sentinel: it ",
                 fault == HF_SERVED_FINE ? "answers something else" : server_text);
        hf_dial_break(dial, why);
    }
}

static void on_sentinel_auth(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_sentinel *sentinel = data;
    char                      server_text[HF_ERRMSG_MAX];

    (void)redis;
    if (hf_redis_fault_text(reply, server_text, sizeof server_text) != HF_SERVED_FINE)
        hf_dial_say(&sentinel->conn.dial, server_text);
}

static void send_question(struct hf_redis *redis, struct hf_redis_sentinel *sentinel)
{
    const char *epoch[] = { "SENTINEL", "MASTER", redis->config.service };
    const char *name[] = { "SENTINEL", "GET-MASTER-ADDR-BY-NAME", redis->config.service };

    assert(sentinel->conn.first == NULL); /* one question at a time */
    if (sentinel->auth && !sentinel->greeted)
        hf_redis_conn_auth(redis, &sentinel->conn, &sentinel->call[2], on_sentinel_auth,
                           sentinel);
    sentinel->greeted = sentinel->auth;
    hf_redis_conn_call(redis, &sentinel->conn, &sentinel->call[0], 3, epoch, NULL,
                       on_config_epoch, sentinel);
    hf_redis_conn_call(redis, &sentinel->conn, &sentinel->call[1], 3, name, NULL,
                       on_master_named, sentinel);
    sentinel->due = redis->remote.now + hf_redis_patience(&sentinel->conn.dial);
}

/* ---- Their dials -------------------------------------------------------------- */

static void greet_sentinel(struct hf_dial *dial)
{
    struct hf_redis_sentinel *sentinel = (struct hf_redis_sentinel *)dial;

    sentinel->greeted = false;
    send_question((struct hf_redis *)dial->store, sentinel);
}

static bool sentinel_is_quiet(const struct hf_dial *dial)
{
    return ((const struct hf_redis *)dial->store)->remote.dial->phase == HF_DIAL_READY;
}

static const struct hf_dial_ops ops = {
    .kind = "Sentinel",
    .greet = greet_sentinel,
    .read = hf_redis_conn_read,
    .over = hf_redis_conn_over,
    .patience = hf_redis_patience,
    .is_quiet = sentinel_is_quiet,
};

/* ---- Running ------------------------------------------------------------------ */

static void run_sentinel(struct hf_redis *redis, struct hf_redis_sentinel *sentinel,
                         bool readable)
{
    struct hf_dial *dial = &sentinel->conn.dial;

    hf_dial_run(dial, readable);
    if (dial->phase == HF_DIAL_READY && redis->remote.now >= sentinel->due) {
        if (sentinel->conn.first == NULL)
            send_question(redis, sentinel);
        else
            hf_dial_hung(dial, "does not answer");
    }
    hf_dial_flush(dial);
}

/* Follow the majority: connect to the master it names, or leave one it no longer names.
 */
static void follow_majority(struct hf_redis *redis)
{
    struct hf_dial                 *dial = redis->remote.dial;
    bool                            seeking = hf_dial_is_sought(dial);
    bool                            ready = dial->phase == HF_DIAL_READY;
    const struct hf_redis_sentinel *one =
        agreed(redis, seeking ? redis->link.seek_began : 0);
    size_t unknown = 0;

    assert(is_used(redis) && dial->phase != HF_DIAL_RESTING);
    for (size_t i = 0; i < redis->config.servers; i++)
        unknown += redis->sentinel[i].unknown;
    assert(unknown <= redis->config.servers);
    if (seeking && unknown >= majority(redis)) {
        hf_dial_refuse(dial, HF_ENOTFOUND, NULL);
    } else if (seeking && one != NULL) {
        redis->link.master = one->master;
        dial->here = one->master.server;
        hf_dial_look_up(dial);
    } else if (!seeking && one != NULL && !names_master(one, &redis->link.master)) {
        hf_dial_break(dial, "is not the master any more, say the Sentinels");
    } else if (ready && redis->remote.now >= redis->served.base.alive_until) {
        hf_dial_break(dial, "is no longer named by a majority of the Sentinels");
    } else if (ready) {
        hf_redis_session_extend(redis);
    }
}

void hf_redis_sentinels_run(struct hf_redis *redis, bool readable)
{
    if (!is_used(redis))
        return;
    for (size_t i = 0; i < redis->config.servers; i++)
        run_sentinel(redis, &redis->sentinel[i], readable);
    if (redis->remote.dial->phase != HF_DIAL_RESTING)
        follow_majority(redis);
}

hf_time hf_redis_sentinels_wake(const struct hf_redis *redis)
{
    bool    ready = is_used(redis) && redis->remote.dial->phase == HF_DIAL_READY;
    hf_time wake = ready ? redis->served.base.alive_until : HF_NEVER;

    for (size_t i = 0; is_used(redis) && i < redis->config.servers; i++) {
        const struct hf_redis_sentinel *sentinel = &redis->sentinel[i];
        const struct hf_dial           *dial = &sentinel->conn.dial;
        if (hf_dial_wake(dial) < wake)
            wake = hf_dial_wake(dial);
        if (dial->phase == HF_DIAL_READY && sentinel->due < wake)
            wake = sentinel->due;
    }
    return wake;
}

/* ---- Both ends ---------------------------------------------------------------- */

/* Earlier answers do not count. */
void hf_redis_sentinels_seek(struct hf_redis *redis)
{
    assert(is_used(redis) && hf_dial_is_sought(redis->remote.dial));
    redis->link.seek_began = redis->remote.now;
    if (redis->served.base.errmsg[0] ==
        '\0') /* in case the caller gives up before we know more */
        snprintf(redis->served.base.errmsg, sizeof redis->served.base.errmsg,
                 "no majority of the Sentinels names a master of \"%.100s\" yet",
                 redis->config.service);
    for (size_t i = 0; i < redis->config.servers; i++) {
        redis->sentinel[i].unknown = false;
        if (redis->sentinel[i].conn.first == NULL)
            redis->sentinel[i].due = redis->remote.now;
    }
}

int hf_redis_sentinels_init(struct hf_redis *redis, uint64_t seed)
{
    if (!is_used(redis))
        return 0;
    redis->sentinel = calloc(redis->config.servers, sizeof *redis->sentinel);
    if (redis->sentinel == NULL)
        return HF_ENOMEM;
    for (size_t i = 0; i < redis->config.servers; i++) {
        struct hf_dial *dial = &redis->sentinel[i].conn.dial;
        *dial = (struct hf_dial){ .ops = &ops,
                                  .store = &redis->served.base,
                                  .now = &redis->remote.now,
                                  .list = &redis->config.server[i],
                                  .servers = 1,
                                  .beside = i + 1 < redis->config.servers };
        hf_dial_init(dial, seed + i);
    }
    return 0;
}

void hf_redis_sentinels_finish(struct hf_redis *redis)
{
    for (size_t i = 0; redis->sentinel != NULL && i < redis->config.servers; i++)
        hf_dial_close(&redis->sentinel[i].conn.dial);
    free(redis->sentinel);
    redis->sentinel = NULL;
}
