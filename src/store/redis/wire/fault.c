/* fault.c - what a server's errors mean, and what to tell a person. */
#include "store/redis/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct meaning {
    const char          *starts;
    enum hf_served_fault fault;
    const char *server_text; /* follows the server's name; NULL: quote the server */
};

static const struct meaning meanings[] = {
    { "NOSCRIPT", HF_SERVED_MISSING, "does not know our script" },
    { "LOADING", HF_SERVED_DOWN, "is still loading its data" },
    { "BUSY", HF_SERVED_DOWN, "is busy with a long-running script" },
    { "MASTERDOWN", HF_SERVED_DOWN, "is a replica that has lost its master" },
    { "READONLY", HF_SERVED_DOWN, "is a read-only replica" },
    { "NOREPLICAS", HF_SERVED_DOWN,
      "has too few replicas to write anything (min-replicas-to-write)" },
    { "CLUSTERDOWN", HF_SERVED_DOWN, "says that its cluster is down" },
    { "TRYAGAIN", HF_SERVED_DOWN, "is moving our keys to another server" },
    { "ASK", HF_SERVED_DOWN, "has moved our keys to another server" },
    { "MOVED", HF_SERVED_DOWN,
      "does not have our keys: another server of its cluster does" },
    { "UNBLOCKED", HF_SERVED_DOWN, "has become a replica" },
    { "ERR max number of clients", HF_SERVED_DOWN,
      "has no room for another client (maxclients)" },
    { "NOAUTH", HF_SERVED_DENIED,
      "wants a password: set ?auth=FILE or HOLDFAST_REDIS_AUTH" },
    { "WRONGPASS", HF_SERVED_DENIED, "rejects the user or the password" },
    { "ERR invalid password", HF_SERVED_DENIED, "rejects the password" },
    { "ERR AUTH", HF_SERVED_DENIED,
      "has no password set: name the user too, or leave the password out" },
    { "ERR Client sent AUTH", HF_SERVED_DENIED,
      "has no password set: leave the password out" },
    { "DENIED", HF_SERVED_DENIED,
      "is in protected mode: it accepts no clients from other machines" },
    { "NOPERM", HF_SERVED_DENIED, NULL },
    { "ERR ACL failure in script", HF_SERVED_DENIED, NULL },
    { "The user executing the script", HF_SERVED_DENIED,
      "does not allow our scripts all that they need (ACL): see docs/redis.md" },
    { "ERR The user executing the script", HF_SERVED_DENIED,
      "does not allow our scripts all that they need (ACL): see docs/redis.md" },
    { "OOM", HF_SERVED_FAILED, "has no memory left (maxmemory)" },
    { "MISCONF", HF_SERVED_FAILED, "refuses writes because it cannot save: see its log" },
    { "WRONGTYPE", HF_SERVED_FAILED,
      "has other data under our keys: choose another ?prefix=" },
    { "CROSSSLOT", HF_SERVED_FAILED, NULL },
};

/* Before version 7 an error inside a script comes wrapped: "ERR Error running script
 * (call to f_...): @user_script:1: @user_script: 1: -OOM command not ...". */
static const char *unwrapped(const char *text)
{
    const char *mark = "@user_script", *at = text, *next;

    if (strncmp(text, "ERR Error running script", 24) != 0)
        return text;
    while ((next = strstr(at, mark)) != NULL) {
        at = next + strlen(mark);
        at += strspn(at, ": 0123456789");
    }
    return *at == '-' ? at + 1 : at;
}

static const struct meaning *find_meaning(const char *text)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strncmp(text, meanings[i].starts, strlen(meanings[i].starts)) == 0)
            return &meanings[i];
    return NULL;
}

enum hf_served_fault hf_redis_fault_text(const redisReply *reply, char *ret, size_t size)
{
    if (reply == NULL || reply->type != REDIS_REPLY_ERROR)
        return HF_SERVED_FINE;

    const char           *text = unwrapped(reply->str);
    const struct meaning *meaning = find_meaning(text);
    enum hf_served_fault  fault = meaning != NULL ? meaning->fault : HF_SERVED_FAILED;
    int                   length = (int)strcspn(text, "\r\n");

    if (length > 140)
        length = 140;
    if (meaning != NULL && meaning->server_text != NULL)
        snprintf(ret, size, "%s", meaning->server_text);
    else
        snprintf(ret, size, "%s: %.*s",
                 fault == HF_SERVED_DENIED ? "does not allow it" : "says", length, text);
    return fault;
}

static bool is_elsewhere(const char *text)
{
    return strncmp(text, "MOVED ", 6) == 0 || strncmp(text, "ASK ", 4) == 0;
}

/* "MOVED 3999 10.0.0.1:6381": all our keys are in one slot, so all of them are there.
 * "ASK ..." has the same form; but that server does not own the slot yet. */
static void remember_moved(struct hf_redis *redis, const char *text)
{
    struct hf_server *moved = &redis->link.moved;
    const char       *host = strrchr(text, ' ');
    const char       *port = strrchr(text, ':');

    assert(is_elsewhere(text));
    if (host == NULL || port == NULL || port < ++host || atoi(port + 1) <= 0 ||
        atoi(port + 1) > 65535 || (size_t)(port - host) >= sizeof moved->host)
        return;
    if (port == host) /* the same host */
        snprintf(moved->host, sizeof moved->host, "%s", redis->remote.dial->here.host);
    else
        snprintf(moved->host, sizeof moved->host, "%.*s", (int)(port - host), host);
    snprintf(moved->port, sizeof moved->port, "%d", atoi(port + 1));
    redis->link.moving = text[0] == 'A';
    redis->remote.dial->detour =
        !redis->link.following; /* the first redirection counts as no failed try */
}

enum hf_served_fault hf_redis_fault(struct hf_redis *redis, const redisReply *reply)
{
    char                 why[HF_ERRMSG_MAX];
    enum hf_served_fault fault = hf_redis_fault_text(reply, why, sizeof why);

    if (fault == HF_SERVED_FINE)
        return fault;
    if (is_elsewhere(reply->str))
        remember_moved(redis, reply->str);
    hf_dial_say(redis->remote.dial, why);
    return fault;
}
