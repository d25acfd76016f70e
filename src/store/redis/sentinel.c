/* sentinel.c - the Sentinels, who say which server is the master.
 *
 * All of them are asked, with every renewal: a master that was replaced does not know of
 * it, for ten seconds and more after a planned failover, for as long as it is cut off
 * otherwise.  We go to the server that a majority names, and what we have there counts no
 * longer than a ttl from when we last asked a majority that named it.
 *
 * That is enough.  Whoever goes to a new master has asked a majority, too, before his
 * hello begins the hold-off there.  One Sentinel answered both of us, and named the old
 * master before the new one, for none goes back.  So our question was sent before that
 * hello, and is over a ttl later, when the hold-off still lasts.
 *
 * Happy path: a connection to each is kept, a question asked, an answer noted.
 * Failures: a Sentinel that does not answer is tried again after a pause.  If there is no
 * majority, nothing is extended; in the end the link is given up.
 */
#include "store/redis/inner.h"

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

/* ---- What they said --------------------------------------------------------------------- */

static bool names(const struct hf_redis_sentinel *sentinel, const char *host,
                  const char *port)
{
    return sentinel->named > 0 && strcmp(sentinel->host, host) == 0 &&
           strcmp(sentinel->port, port) == 0;
}

/* One that names what most of them name, asked not before then; NULL: there is none. */
static const struct hf_redis_sentinel *agreed(const struct hf_redis *redis, hf_time since)
{
    const struct hf_redis_sentinel *all = redis->sentinel;

    for (size_t i = 0; i < redis->config.servers; i++) {
        size_t count = 0;
        for (size_t j = 0; j < redis->config.servers; j++)
            count += all[j].named >= since && names(&all[j], all[i].host, all[i].port);
        if (all[i].named > 0 && count >= majority(redis))
            return &all[i];
    }
    return NULL;
}

hf_time hf_redis_sentinels_since(const struct hf_redis *redis)
{
    const struct hf_redis_link     *link = &redis->link;
    const struct hf_redis_sentinel *all = redis->sentinel;
    hf_time                         since = 0;

    for (size_t i = 0; i < redis->config.servers; i++) {
        size_t count = 0;
        for (size_t j = 0; j < redis->config.servers; j++)
            count +=
                all[j].named >= all[i].named && names(&all[j], link->host, link->port);
        if (count >= majority(redis) && names(&all[i], link->host, link->port) &&
            all[i].named > since)
            since = all[i].named;
    }
    return since;
}

/* ---- One of them --------------------------------------------------------------------------- */

static struct hf_redis_server *server_of(struct hf_redis                *redis,
                                         const struct hf_redis_sentinel *sentinel)
{
    return &redis->config.server[sentinel - redis->sentinel];
}

static void say(struct hf_redis *redis, const struct hf_redis_sentinel *sentinel,
                const char *why)
{
    const struct hf_redis_server *server = server_of(redis, sentinel);
    bool                          v6 = strchr(server->host, ':') != NULL;

    if (redis->link.phase != HF_REDIS_READY)
        snprintf(redis->served.base.errmsg, sizeof redis->served.base.errmsg,
                 "Sentinel at %s%.80s%s:%s %.140s", v6 ? "[" : "", server->host,
                 v6 ? "]" : "", server->port, why);
}

/* The next address at once, then a pause. */
static void give_up(struct hf_redis *redis, struct hf_redis_sentinel *sentinel,
                    const char *why)
{
    say(redis, sentinel, why);
    hf_redis_lookup_end(redis, &sentinel->lookup);
    hf_redis_conn_close(redis, &sentinel->conn);
    sentinel->due = redis->remote.now;
    if (sentinel->lookup.next < sentinel->lookup.count)
        return;
    sentinel->due += hf_retry_next(&sentinel->retry);
    if (redis->link.phase != HF_REDIS_READY)
        hf_store_tried(&redis->served.base, hf_store_is_absent(&redis->served.base),
                       sentinel - redis->sentinel + 1 ==
                           (ptrdiff_t)redis->config.servers);
}

static void explain(struct hf_redis *redis, struct hf_redis_sentinel *sentinel)
{
    const struct hf_stream *stream = &sentinel->conn.stream;
    char                    why[HF_ERRMSG_MAX];

    snprintf(why, sizeof why, "%s%.150s",
             sentinel->conn.strange      ? ""
             : sentinel->conn.heard == 0 ? "cannot be reached: "
                                         : "hung up: ",
             stream->errmsg);
    give_up(redis, sentinel, why);
}

/* ---- Questions ------------------------------------------------------------------------------- */

static void ask(struct hf_redis *redis, struct hf_redis_sentinel *sentinel);

static bool take_name(struct hf_redis_sentinel *sentinel, const redisReply *reply)
{
    const redisReply *host = reply->element[0], *port = reply->element[1];

    if (host->type != REDIS_REPLY_STRING || port->type != REDIS_REPLY_STRING ||
        host->len == 0 || host->len >= sizeof sentinel->host ||
        port->len >= sizeof sentinel->port || atoi(port->str) <= 0)
        return false;
    snprintf(sentinel->host, sizeof sentinel->host, "%s", host->str);
    snprintf(sentinel->port, sizeof sentinel->port, "%s", port->str);
    sentinel->named = sentinel->call[0].sent;
    return true;
}

static hf_time next_question(const struct hf_redis          *redis,
                             const struct hf_redis_sentinel *sentinel)
{
    hf_time soon =
        redis->config.ttl / 10 < 250 * HF_MS ? redis->config.ttl / 10 : 250 * HF_MS;
    bool settled = redis->link.phase == HF_REDIS_READY &&
                   names(sentinel, redis->link.host, redis->link.port);

    return settled ? sentinel->call[0].sent + redis->config.ttl / 3
                   : redis->remote.now + soon;
}

static void on_asked(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_sentinel *sentinel = data;
    char                      why[HF_ERRMSG_MAX], words[HF_ERRMSG_MAX];

    if (reply == NULL)
        return;
    enum hf_redis_fault fault = hf_redis_fault_words(reply, words, sizeof words);
    sentinel->unknown = reply->type == REDIS_REPLY_NIL;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        take_name(sentinel, reply)) {
        hf_retry_reset(&sentinel->retry);
    } else if (sentinel->unknown) {
        snprintf(why, sizeof why, "knows no service \"%.100s\"", redis->config.service);
        say(redis, sentinel, why);
        sentinel->named = 0;
    } else if (fault == HF_REDIS_DENIED && redis->config.password && !sentinel->auth) {
        sentinel->auth = true; /* those without a password would take none */
        ask(redis, sentinel);
        return;
    } else {
        snprintf(why, sizeof why, "%s%.150s",
                 fault == HF_REDIS_DENIED ? "" : "is no Sentinel: it ",
                 fault == HF_REDIS_FINE ? "answers something else" : words);
        say(redis, sentinel, why);
        sentinel->useless = true;
    }
    sentinel->due = next_question(redis, sentinel);
}

static void on_auth(struct hf_redis *redis, void *data, const redisReply *reply)
{
    struct hf_redis_sentinel *sentinel = data;
    char                      words[HF_ERRMSG_MAX];

    if (hf_redis_fault_words(reply, words, sizeof words) != HF_REDIS_FINE)
        say(redis, sentinel, words);
}

static void ask(struct hf_redis *redis, struct hf_redis_sentinel *sentinel)
{
    const char *argv[] = { "SENTINEL", "GET-MASTER-ADDR-BY-NAME", redis->config.service };

    if (sentinel->auth && !sentinel->greeted)
        hf_redis_conn_auth(redis, &sentinel->conn, &sentinel->call[1], on_auth, sentinel);
    sentinel->greeted = sentinel->auth;
    hf_redis_conn_call(redis, &sentinel->conn, &sentinel->call[0], 3, argv, NULL,
                       on_asked, sentinel);
    sentinel->due = redis->remote.now + hf_redis_link_patience(redis); /* to answer */
}

/* ---- Turns ------------------------------------------------------------------------------------- */

static void reach(struct hf_redis *redis, struct hf_redis_sentinel *sentinel)
{
    struct hf_redis_lookup *lookup = &sentinel->lookup;

    sentinel->due = redis->remote.now + hf_redis_link_patience(redis);
    sentinel->greeted = sentinel->useless = false;
    if (hf_redis_conn_open(redis, &sentinel->conn, &lookup->address[lookup->next++],
                           server_of(redis, sentinel)->host) < 0)
        give_up(redis, sentinel, "cannot be reached: out of memory");
}

static void find(struct hf_redis *redis, struct hf_redis_sentinel *sentinel)
{
    struct hf_redis_server *server = server_of(redis, sentinel);
    struct hf_redis_lookup *lookup = &sentinel->lookup;
    char                    why[HF_ERRMSG_MAX];

    if (lookup->next >= lookup->count && lookup->resolve == NULL) {
        sentinel->due = redis->remote.now + hf_redis_link_patience(redis);
        if (hf_redis_lookup_start(redis, lookup, server->host, server->port) < 0) {
            give_up(redis, sentinel, "cannot be looked up: out of memory");
            return;
        }
    }
    int n = lookup->resolve != NULL ? hf_redis_lookup_get(redis, lookup) : 1;
    if (n < 0) {
        snprintf(why, sizeof why, "is not to be found: %.150s",
                 hf_resolve_error(lookup->resolve));
        give_up(redis, sentinel, why);
    } else if (n > 0) {
        reach(redis, sentinel);
    } else if (redis->remote.now >= sentinel->due) {
        give_up(redis, sentinel, "is not to be found: nobody answers in time");
    }
}

static void run(struct hf_redis *redis, struct hf_redis_sentinel *sentinel, bool readable)
{
    struct hf_redis_conn *conn = &sentinel->conn;
    bool                  due = redis->remote.now >= sentinel->due;

    if (!conn->there && (due || sentinel->lookup.resolve != NULL))
        find(redis, sentinel);
    if (!conn->there)
        return;
    if (!hf_redis_conn_run(redis, conn, readable)) { /* perhaps at once */
        explain(redis, sentinel);
    } else if (sentinel->useless) {
        hf_redis_conn_close(redis, conn);
        sentinel->due = redis->remote.now + hf_retry_next(&sentinel->retry);
    } else if (conn->stream.state == HF_STREAM_OPEN && conn->first == NULL &&
               (conn->heard == 0 || redis->remote.now >= sentinel->due)) {
        ask(redis, sentinel);
        hf_redis_conn_flush(redis, conn);
    } else if (redis->remote.now >= sentinel->due) {
        give_up(redis, sentinel, "does not answer");
    }
}

/* Is the search over, or to begin again? */
static void conclude(struct hf_redis *redis)
{
    struct hf_redis_link           *link = &redis->link;
    bool                            seeking = link->phase == HF_REDIS_SEEKING;
    const struct hf_redis_sentinel *one = agreed(redis, seeking ? link->sought : 0);
    size_t                          unknown = 0;

    for (size_t i = 0; i < redis->config.servers; i++)
        unknown += redis->sentinel[i].unknown;
    if (seeking && unknown >= majority(redis))
        hf_redis_link_refuse(redis, HF_ENOTFOUND, NULL);
    else if (seeking && one != NULL)
        hf_redis_find_named(redis, one->host, one->port);
    else if (!seeking && one != NULL && !names(one, link->host, link->port))
        hf_redis_link_break(redis, "is not the master any more, say the Sentinels");
    else if (link->phase == HF_REDIS_READY &&
             redis->remote.now >= redis->served.base.alive_until)
        hf_redis_link_break(redis, "is not named by a majority of the Sentinels");
    else if (link->phase == HF_REDIS_READY)
        hf_redis_session_extend(redis);
}

void hf_redis_sentinels_run(struct hf_redis *redis, bool readable)
{
    if (!is_used(redis))
        return;
    for (size_t i = 0; i < redis->config.servers; i++)
        run(redis, &redis->sentinel[i], readable);
    if (redis->link.phase > HF_REDIS_RESTING)
        conclude(redis);
}

hf_time hf_redis_sentinels_wake(const struct hf_redis *redis)
{
    bool    ready = is_used(redis) && redis->link.phase == HF_REDIS_READY;
    hf_time wake = ready ? redis->served.base.alive_until : HF_NEVER;

    for (size_t i = 0; is_used(redis) && i < redis->config.servers; i++) {
        const struct hf_redis_sentinel *sentinel = &redis->sentinel[i];
        if (sentinel->conn.more)
            return 0;
        if (sentinel->due < wake)
            wake = sentinel->due;
    }
    return wake;
}

/* ---- Both ends ------------------------------------------------------------------------------------ */

/* What they said before does not count. */
void hf_redis_sentinels_seek(struct hf_redis *redis)
{
    redis->link.sought = redis->remote.now;
    if (redis->served.base.errmsg[0] ==
        '\0') /* should somebody give up before we know more */
        snprintf(redis->served.base.errmsg, sizeof redis->served.base.errmsg,
                 "no majority of the Sentinels names a master of \"%.100s\" yet",
                 redis->config.service);
    for (size_t i = 0; i < redis->config.servers; i++) {
        redis->sentinel[i].unknown = false;
        if (redis->sentinel[i].conn.there && redis->sentinel[i].conn.first == NULL)
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
    for (size_t i = 0; i < redis->config.servers; i++)
        hf_retry_init(&redis->sentinel[i].retry, 50 * HF_MS, HF_SEC, seed + i);
    return 0;
}

void hf_redis_sentinels_finish(struct hf_redis *redis)
{
    for (size_t i = 0; redis->sentinel != NULL && i < redis->config.servers; i++) {
        hf_redis_lookup_end(redis, &redis->sentinel[i].lookup);
        hf_redis_conn_close(redis, &redis->sentinel[i].conn);
    }
    free(redis->sentinel);
    redis->sentinel = NULL;
}
