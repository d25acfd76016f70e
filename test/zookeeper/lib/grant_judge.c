/* grant_judge.c - see grant_judge.h. */
#include "grant_judge.h"

#include "witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWNER 12 /* the part of the uuid that all places of a client share */

static struct zkraw         raw;
static const struct judged *all[JUDGE_MAX];
static int                  count;

void judge_open(void)
{
    if (!zkraw_open(&raw, witness_server(), 60000))
        fail_msg("the judge is not let in");
}

void judge_add(const struct judged *judged)
{
    assert_true(count < JUDGE_MAX);
    all[count++] = judged;
}

void judge_close(void)
{
    zkraw_close(&raw);
}

/* ---- Names of nodes ----------------------------------------------------------------- */

static uint64_t seq_of(const char *name)
{
    return strtoull(name + strlen(name) - 10, NULL, 10) + 2;
}

static bool reads(const char *name)
{
    return strstr(name, "__READ__") != NULL || strstr(name, "__rlock__") != NULL;
}

/* The end of the uuid. */
static const char *owner_of(const char *name)
{
    bool is_curator = strncmp(name, "_c_", 3) == 0;

    return name + (is_curator ? 3 + 36 : 32) - OWNER;
}

/* ---- Faults ------------------------------------------------------------------------- */

/* The place of that node; NULL: unknown. */
static const struct judged *place_of(const struct judged *self, const char *node)
{
    for (int i = 0; i < count; i++)
        if (all[i]->name != NULL && strcmp(all[i]->name, self->name) == 0 &&
            all[i]->seq == seq_of(node))
            return all[i];
    return NULL;
}

/* Is this client leaving a place whose number is unknown? */
static bool leaves_unknown(const struct judged *self)
{
    for (int i = 0; i < count; i++)
        if (all[i]->client == self->client && all[i]->leaves && all[i]->seq == 0 &&
            all[i]->name != NULL && strcmp(all[i]->name, self->name) == 0)
            return true;
    return false;
}

static _Noreturn void fault(const struct judged *self, const struct witness *there,
                            const char *what)
{
    for (size_t i = 0; i < there->count; i++)
        print_message("# in %s: %s\n", self->name, there->name[i]);
    fail_msg("%s, number %lld: %s", self->name, (long long)self->seq - 2, what);
    abort();
}

static const char *node_of(const struct judged *place, const struct witness *there)
{
    for (size_t i = 0; i < there->count; i++)
        if (seq_of(there->name[i]) == place->seq)
            return there->name[i];
    return NULL;
}

/* Is it a node of the same client, which is leaving that place? */
static bool is_leaving(const struct judged *self, const char *node, const char *own)
{
    const struct judged *place = place_of(self, node);

    if (place != NULL)
        return place->client == self->client && place->leaves;
    if (own != NULL && strncmp(owner_of(node), owner_of(own), OWNER) != 0)
        return false;
    return leaves_unknown(self);
}

/* Nobody ahead may keep it out. */
static void judge_ahead(const struct judged *self, const struct witness *there)
{
    const char *own = node_of(self, there);

    if (own == NULL && !self->broken)
        fault(self, there, "granted, and not there");
    for (size_t i = 0; i < there->count; i++)
        if (seq_of(there->name[i]) < self->seq &&
            !(self->reads && reads(there->name[i])) &&
            !is_leaving(self, there->name[i], own))
            fault(self, there, "granted while one ahead is there");
}

/* True: one of the two does not hold it any more, and has not heard of that. */
static bool judge_holder(const struct judged *self, const struct witness *there,
                         const struct judged *other)
{
    if (other == self || !other->holds || strcmp(other->name, self->name) != 0 ||
        (self->reads && other->reads))
        return false;
    bool stands = node_of(other, there) != NULL;
    if (stands && node_of(self, there) != NULL)
        fault(self, there, "granted while another holds it");
    if (!stands && !other->broken)
        fault(self, there, "granted while another believes that it holds it");
    return true;
}

void judge_learn(struct judged *self, uint64_t token)
{
    struct witness there;
    char           folder[80], path[80 + WITNESS_NAME];

    if (self->token == token)
        return; /* a downgrade creates another node with the same number */
    snprintf(folder, sizeof folder, "/%s", self->name);
    witness_look_in(&raw, folder, &there);
    self->token = token;
    for (size_t i = 0; i < there.count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, there.name[i]);
        if (witness_czxid_in(&raw, path) == token)
            self->seq = seq_of(there.name[i]);
    }
}

bool judge_grant(struct judged *self)
{
    struct witness there;
    char           folder[80];
    bool           late = false;

    snprintf(folder, sizeof folder, "/%s", self->name);
    witness_look_in(&raw, folder, &there);
    judge_ahead(self, &there);
    for (int i = 0; i < count; i++)
        late = judge_holder(self, &there, all[i]) || late;
    self->holds = true;
    return late;
}
