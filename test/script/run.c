/* run.c - see run.h: commands, and how time passes. */
#include "run.h"

#include "holdfast.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The network --------------------------------------------------------------- */

static hf_time travel(struct sim_network *net, struct sim_wire *wire,
                      const struct sim_message *message)
{
    struct run *run = net->data;

    for (size_t i = 0; i < run->clients; i++) {
        const struct run_client *client = &run->client[i];
        if (client->sim.wire != wire)
            continue;
        if (message->to_world ? client->deaf : client->mute)
            return SIM_LOST;
        return HF_MS + client->slow;
    }
    return HF_MS;
}

/* ---- Time ---------------------------------------------------------------------- */

static hf_time next_event(const struct run *run)
{
    hf_time next = sim_network_next(&run->net);

    for (size_t i = 0; i < run->clients; i++)
        if (sim_client_next(&run->client[i].sim) < next)
            next = sim_client_next(&run->client[i].sim);
    return next > run->net.now ? next : run->net.now;
}

static void run_clients(struct run *run)
{
    for (size_t i = 0; i < run->clients; i++) {
        struct run_client *client = &run->client[i];
        if (sim_client_next(&client->sim) > run->net.now)
            continue;
        sim_client_run(&client->sim);
        transcript_link(client);
    }
}

static void pass(struct run *run, hf_time span)
{
    hf_time end = run->net.now + span;

    for (hf_time next; (next = next_event(run)) <= end;) {
        sim_network_run(&run->net, next);
        run_clients(run);
        if (run->length > RUN_TEXT / 2)
            break; /* an endless loop: the transcript shows it */
    }
    if (run->net.now < end)
        sim_network_run(&run->net, end);
}

/* ---- Reading commands ---------------------------------------------------------- */

static bool read_span(const char *number, const char *unit, hf_time *ret)
{
    char *end;
    long  value = strtol(number, &end, 10);

    if (end == number || *end != '\0' || value < 0)
        return false;
    *ret = value * (strcmp(unit, "s") == 0 ? HF_SEC : HF_MS);
    return strcmp(unit, "s") == 0 || strcmp(unit, "ms") == 0;
}

static bool read_kind(const char *text, struct hf_shape *ret)
{
    unsigned capacity, weight = 1;

    if (strcmp(text, "mutex") == 0)
        *ret = (struct hf_shape){ 1, 1, false };
    else if (strcmp(text, "reader") == 0)
        *ret = (struct hf_shape){ 1, HF_ALL, false };
    else if (strcmp(text, "writer") == 0)
        *ret = (struct hf_shape){ HF_ALL, HF_ALL, false };
    else if (strcmp(text, "claim") == 0)
        *ret = (struct hf_shape){ 1, 1, true };
    else if (sscanf(text, "semaphore:%u:%u", &capacity, &weight) >= 1)
        *ret = (struct hf_shape){ weight, capacity, false };
    else
        return false;
    return true;
}

/* ---- Commands ------------------------------------------------------------------ */

static struct run_client *find_client(struct run *run, const char *name)
{
    for (size_t i = 0; i < run->clients; i++)
        if (strcmp(run->client[i].name, name) == 0)
            return &run->client[i];
    return NULL;
}

static struct run_lock *find_lock(struct run_client *client, const char *name)
{
    for (size_t i = 0; i < client->locks; i++)
        if (strcmp(client->lock[i].name, name) == 0)
            return &client->lock[i];
    return NULL;
}

static const char *start(struct run *run, const char *name, char **word, size_t words)
{
    struct run_client *client = find_client(run, name);

    if (client == NULL) {
        assert(run->clients < RUN_CLIENTS);
        client = &run->client[run->clients++];
        *client = (struct run_client){ .run = run };
        snprintf(client->name, sizeof client->name, "%s", name);
        client->sim = (struct sim_client){ .net = &run->net, .offset = HF_SEC };
    }
    /* "with a lease of 3 s" */
    if (words == 6 && !read_span(word[4], word[5], &client->sim.ttl))
        return "how long is the lease?";
    client->locks = 0;
    client->link = HF_LINK_DOWN;
    sim_client_start(&client->sim, 1);
    return NULL;
}

static const char *want(struct run_client *client, const char *name, bool try,
                        char **word, size_t words)
{
    struct run_lock *lock = find_lock(client, name);
    struct hf_shape  shape = { 1, 1, false };
    bool             follow = false;
    hf_time          deadline = HF_NEVER;
    uint32_t         limit = 0;

    for (size_t i = 0; i < words; i++) {
        if (strcmp(word[i], "following") == 0)
            follow = true;
        else if (strcmp(word[i], "as") == 0 && i + 1 < words &&
                 read_kind(word[i + 1], &shape))
            i++;
        else if (strcmp(word[i], "for") == 0 && i + 2 < words &&
                 read_span(word[i + 1], word[i + 2], &deadline))
            i += 2;
        else if (strcmp(word[i], "unless") == 0 && i + 2 < words &&
                 (limit = (uint32_t)strtoul(word[i + 1], NULL, 10)) > 0)
            i += 2; /* "unless 1 waits" */
        else
            return "unknown way to want a lock";
    }
    if (lock == NULL) {
        assert(client->locks < RUN_LOCKS);
        lock = &client->lock[client->locks++];
        snprintf(lock->name, sizeof lock->name, "%s", name);
        hf_job_init(&lock->job, &client->sim.engine, lock->name, &shape);
        lock->client = client;
        lock->state = HF_HOLD_IDLE;
        lock->ahead = lock->asks = 0;
        lock->weight = shape.weight;
        lock->job.on_change = transcript_change;
    }
    if (lock->state != HF_HOLD_IDLE)
        return "it waits for or holds it already";
    if (deadline != HF_NEVER)
        deadline += sim_client_clock(&client->sim, client->run->net.now);
    lock->job.limit = limit;
    lock->job.follow = follow;
    hf_job_want(&lock->job, try, deadline);
    return NULL;
}

static const char *drop(struct run_client *client, const char *name, int why)
{
    struct run_lock *lock = find_lock(client, name);

    if (lock == NULL || lock->state == HF_HOLD_IDLE)
        return "has nothing to release";
    hf_job_drop(&lock->job, why);
    return NULL;
}

/* "downgrades x to KIND" */
static const char *downgrade(struct run_client *client, char **word, size_t words)
{
    struct run_lock *lock = words == 3 ? find_lock(client, word[0]) : NULL;
    struct hf_shape  shape;

    if (lock == NULL || lock->state != HF_HOLD_HELD || !read_kind(word[2], &shape))
        return "downgrade what to what?";
    hf_job_downgrade(&lock->job, &shape);
    return NULL;
}

static void on_query(struct hf_query *query)
{
    (void)query; /* the transcript shows the request */
}

/* "breaks place 1 of x", "asks for place 1 of x because y" */
static const char *request_for_place(struct run_client *client, enum hf_op op,
                                     char **word, size_t words)
{
    struct run *run = client->run;

    if (words != (op == HF_ASK ? 6u : 4u))
        return "which place?";
    snprintf(run->name, sizeof run->name, "%s", word[3]);
    snprintf(run->why, sizeof run->why, "%s", op == HF_ASK ? word[5] : "");
    run->query = (struct hf_query){
        .req = { .op = op,
                 .name = run->name,
                 .note = run->why,
                 .token = strtoull(word[1], NULL, 10) },
        .deadline = HF_NEVER,
        .on_done = on_query,
    };
    hf_query_start(&run->query, &client->sim.engine);
    return NULL;
}

static const char *set_network(struct run_client *client, char **word, size_t words)
{
    if (words == 2 && strcmp(word[1], "off") == 0)
        client->deaf = client->mute = true;
    else if (words == 1 && strcmp(word[0], "reachable") == 0)
        client->deaf = client->mute = false;
    else if (words == 1 && strcmp(word[0], "fast") == 0)
        client->slow = 0;
    else if (words == 4 && strcmp(word[0], "slow") == 0)
        return read_span(word[2], word[3], &client->slow) ? NULL : "slow by how much?";
    else
        return "unknown command";
    return NULL;
}

/* A command about a running client. */
static const char *act(struct run_client *client, const char *verb, char **word,
                       size_t words)
{
    client->sim.wake = 0;
    if ((strcmp(verb, "wants") == 0 || strcmp(verb, "tries") == 0) && words >= 1)
        return want(client, word[0], verb[0] == 't', word + 1, words - 1);
    if (strcmp(verb, "releases") == 0 && words == 1)
        return drop(client, word[0], 0);
    if (strcmp(verb, "cancels") == 0 && words == 1)
        return drop(client, word[0], HF_ECANCELED);
    if (strcmp(verb, "downgrades") == 0)
        return downgrade(client, word, words);
    if (strcmp(verb, "breaks") == 0)
        return request_for_place(client, HF_BREAK, word, words);
    if (strcmp(verb, "asks") == 0 && words > 1)
        return request_for_place(client, HF_ASK, word + 1, words - 1);
    if (strcmp(verb, "is") == 0)
        return set_network(client, word, words);
    if (strcmp(verb, "hears") == 0)
        client->mute = true;
    else if (strcmp(verb, "stops") == 0 || strcmp(verb, "goes") == 0)
        sim_client_stop(&client->sim, verb[0] == 's');
    else if (strcmp(verb, "dies") == 0 || strcmp(verb, "closes") == 0)
        sim_client_close(&client->sim, verb[0] == 'c');
    else
        return "unknown command";
    return NULL;
}

const char *run_command(struct run *run, const char *command)
{
    char   line[256], *word[16], *rest;
    size_t words = 0;

    snprintf(line, sizeof line, "%s", command);
    for (char *w = strtok_r(line, " ", &rest); w != NULL && words < 16;
         w = strtok_r(NULL, " ", &rest))
        word[words++] = w;
    if (words < 2)
        return "not a command";

    hf_time span;
    if (words == 3 && strncmp(word[2], "pass", 4) == 0 &&
        read_span(word[0], word[1], &span)) {
        pass(run, span);
        return NULL;
    }
    if (strcmp(word[1], "starts") == 0)
        return start(run, word[0], word + 2, words - 2);
    /* "the connection of a breaks [late]" */
    bool               breaks = words >= 5 && strcmp(word[1], "connection") == 0;
    struct run_client *client = find_client(run, word[breaks ? 3 : 0]);
    if (client == NULL || client->sim.store == NULL)
        return "no client of that name is running";
    if (!breaks)
        return act(client, word[1], word + 2, words - 2);
    sim_client_cut(&client->sim, words == 6);
    return NULL;
}

void run_open(struct run *run)
{
    sim_network_init(&run->net);
    run->net.travel = travel;
    run->net.served = transcript_served;
    run->net.data = run;
    run->clients = 0;
    run->top = 0;
    run->length = 0;
    run->text[0] = '\0';
}

void run_close(struct run *run)
{
    for (size_t i = 0; i < run->clients; i++)
        if (run->client[i].sim.store != NULL)
            sim_client_close(&run->client[i].sim, false);
    sim_network_finish(&run->net);
}
