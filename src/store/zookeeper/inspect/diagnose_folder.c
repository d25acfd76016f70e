/* diagnose_folder.c - what doctor reports of a lock's folder: its holders and waiters,
 * its sequence numbers, and client libraries that do not see each other's places.
 *
 * Every client library recognizes only its own kinds of names as places.  Holdfast reads
 * all of them, so it never overtakes anybody; but the others may overtake each other,
 * and Holdfast.
 */
#include "store/zookeeper/inspect/diagnose.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS_WARN (HF_ZK_SEQUENCE_END - (1 << 20))

enum {
    PERMIT_CREATE = 1 << 2,
    PERMIT_DELETE = 1 << 3,
    PERMIT_ADMIN = 1 << 4,
};

/* ---- Kinds of names ----------------------------------------------------------------- */

enum kind { MUTEX, SHARED, KAZOO, KAZOO_READER, RECIPE, NATIVE, KINDS };

static const char *const kind_names[] = {
    [MUTEX] = "Curator's mutexes (lock-)",
    [SHARED] = "Curator's readers and writers (__READ__, __WRIT__)",
    [KAZOO] = "kazoo's locks (__lock__)",
    [KAZOO_READER] = "kazoo's readers (__rlock__)",
    [RECIPE] = "nodes of ZooKeeper's recipes (x-)",
    [NATIVE] = "Holdfast's semaphores and claims",
};

enum sight { SEES, CAN_SEE, BLIND };

/* Does a client that uses names of the first kind see those of the others?  CAN_SEE: if
 * kazoo's extra_lock_patterns says so. */
static const enum sight sight[KINDS][KINDS] = {
    [MUTEX] = { SEES, BLIND, BLIND, BLIND, BLIND, BLIND },
    [SHARED] = { BLIND, SEES, BLIND, BLIND, BLIND, BLIND },
    [KAZOO] = { CAN_SEE, CAN_SEE, SEES, SEES, BLIND, BLIND },
    [KAZOO_READER] = { CAN_SEE, CAN_SEE, SEES, SEES, BLIND, BLIND },
    [RECIPE] = { SEES, BLIND, BLIND, BLIND, SEES, BLIND },
    [NATIVE] = { SEES, SEES, SEES, SEES, SEES, SEES },
};

static enum kind kind_of(const struct hf_zk_child *child)
{
    bool shared = child->shape.capacity == HF_ALL;

    switch (child->style) {
    case HF_ZK_CURATOR:
        return shared ? SHARED : MUTEX;
    case HF_ZK_KAZOO:
        return shared ? KAZOO_READER : KAZOO;
    case HF_ZK_RECIPE:
        return RECIPE;
    default:
        return NATIVE;
    }
}

/* ---- Answers ------------------------------------------------------------------------ */

/* Count holders and waiters, by names alone. */
static void judge_children(struct hf_zk_folder_facts *facts,
                           struct hf_zk_entries      *entries)
{
    struct hf_sum ahead = { 0 };
    size_t        count;

    for (size_t i = 0; i < entries->count; i++)
        entries->entry[i].there = true;
    hf_zk_entries_arrange(entries);
    struct hf_place *places = hf_zk_entries_places(entries, &count);
    for (size_t i = 0; i < count; i++) {
        bool granted = hf_sum_next(&ahead, &places[i].shape);
        facts->holders += granted;
        facts->waiters += !granted;
    }
    free(places);
}

/* Curator sorts by the text after the last "lock-", or by the whole name, and treats the
 * first as the holder. */
static void take_foreign(struct hf_zk_folder_facts *facts, struct hf_zk_text text)
{
    char        name[sizeof facts->foreign_name];
    const char *key = name, *at;

    snprintf(name, sizeof name, "%.*s", (int)(text.size < 60 ? text.size : 60),
             text.bytes);
    while ((at = strstr(key, "lock-")) != NULL)
        key = at + 5;
    facts->foreign++;
    memcpy(facts->foreign_name, name, sizeof name);
    if (strcmp(key, "0000000001") < 0)
        memcpy(facts->blocker, name, sizeof name);
}

void hf_zk_folder_take_list(struct hf_zk_folder_facts *facts, struct hf_zk_reply *reply)
{
    size_t               count = reply->error == 0 ? hf_zk_get_count(&reply->body, 4) : 0;
    struct hf_zk_entries entries = { 0 };

    facts->list_error = reply->error;
    for (size_t i = 0; i < count; i++) {
        struct hf_zk_text  name = hf_zk_get_text(&reply->body);
        struct hf_zk_child child;
        hf_zk_child_parse(name.bytes, name.size, &child);
        if (child.style == HF_ZK_FOREIGN)
            take_foreign(facts, name);
        if (child.style == HF_ZK_FOREIGN || child.style == HF_ZK_SLOT)
            continue;
        unsigned bit = 1u << kind_of(&child);
        facts->kinds |= bit;
        if (!hf_zk_child_is_holdfast(name.bytes, name.size))
            facts->other_kinds |= bit;
        hf_zk_entries_add(&entries, "", "", name,
                          &child); /* without memory it is left out */
    }
    hf_zk_get_stat(&reply->body, &facts->stat);
    judge_children(facts, &entries);
    hf_zk_entries_finish(&entries);
}

void hf_zk_folder_take_acl(struct hf_zk_folder_facts *facts, struct hf_zk_reply *reply)
{
    size_t count = reply->error == 0 ? hf_zk_get_count(&reply->body, 12) : 0;

    for (size_t i = 0; i < count; i++) {
        int32_t           permits = hf_zk_get_int(&reply->body);
        struct hf_zk_text scheme = hf_zk_get_text(&reply->body);
        hf_zk_get_text(&reply->body);
        if (scheme.size == 5 && memcmp(scheme.bytes, "world", 5) == 0)
            facts->anyone |= permits;
    }
    facts->acl_known = reply->error == 0 && !reply->body.bad;
}

/* ---- Findings ----------------------------------------------------------------------- */

static void report_folder(const struct hf_zk *zk, const struct hf_zk_line *line,
                          const struct hf_zk_folder_facts *facts,
                          struct hf_finding_list          *list)
{
    int  changes = PERMIT_CREATE | PERMIT_DELETE | PERMIT_ADMIN;
    bool known = zk->config.auth != NULL || zk->config.certified;
    bool open = facts->acl_known && (facts->anyone & changes) != 0;
    bool wanted = strcmp(zk->config.acl, "open") == 0;

    hf_finding_add(
        list, open && known && !wanted ? HF_WARNING : HF_FINE, "folder",
        open && known && !wanted
            ? "a client without an identity created it: delete it when nobody is "
              "in it, or set its ACL"
            : NULL,
        "%s%s", line->folder, open && known ? ", which anybody may change" : "");
    if (facts->enter_error == HF_ZK_NO_AUTH || facts->leave_error == HF_ZK_NO_AUTH)
        hf_finding_add(
            list, HF_FAULT, "rights",
            "use the identity that created it, or acl= for a group that shares it",
            "this client may not %s there",
            facts->enter_error != 0 ? "create nodes" : "delete nodes");
}

/* The server shows twice the number of nodes ever created, less those that exist now. */
static uint32_t next_number(const struct hf_zk_stat *stat)
{
    return ((uint32_t)stat->cversion + (uint32_t)stat->children) >> 1;
}

/* A server does not say whether a folder is a container. */
static void report_numbers(const struct hf_zk_folder_facts *facts,
                           struct hf_finding_list          *list)
{
    uint32_t      next = next_number(&facts->stat);
    enum hf_level level = next >= HF_ZK_SEQUENCE_END ? HF_FAULT
                          : next >= NUMBERS_WARN     ? HF_WARNING
                                                     : HF_FINE;

    hf_finding_add(list, level, "numbers",
                   level == HF_FINE
                       ? NULL
                       : "they start again in a new folder: leave it empty for "
                         "some minutes, and if it still exists, delete it",
                   "the next is %" PRIu32 " of %d%s", next, HF_ZK_SEQUENCE_END,
                   level == HF_FAULT ? ": they are used up" : "");
}

/* The worst pair of kinds: clients of the first do not see places of the second. */
static enum sight find_worst_pair(const struct hf_zk_folder_facts *facts,
                                  enum kind *blind, enum kind *unseen)
{
    enum sight worst = SEES;

    for (unsigned i = 0; i < KINDS; i++)
        for (unsigned k = 0; k < KINDS; k++)
            if ((facts->other_kinds & 1u << i) != 0 && (facts->kinds & 1u << k) != 0 &&
                sight[i][k] > worst) {
                worst = sight[i][k];
                *blind = (enum kind)i;
                *unseen = (enum kind)k;
            }
    return worst;
}

static void report_kinds(const struct hf_zk_folder_facts *facts,
                         struct hf_finding_list          *list)
{
    enum kind  blind = MUTEX, unseen = MUTEX;
    enum sight worst = find_worst_pair(facts, &blind, &unseen);

    if (worst == BLIND)
        hf_finding_add(list, HF_FAULT, "names",
                       "use one library for this lock, or names that all of them see: "
                       "docs/zookeeper.md",
                       "clients with %s do not see %s: two may hold the lock at once",
                       kind_names[blind], kind_names[unseen]);
    else if (worst == CAN_SEE)
        hf_finding_add(
            list, HF_WARNING, "names",
            unseen == SHARED
                ? "give kazoo extra_lock_patterns=[\"__READ__\", \"__WRIT__\"], or "
                  "Holdfast's URL style=kazoo"
                : "give kazoo extra_lock_patterns=[\"-lock-\"], or Holdfast's URL "
                  "style=kazoo",
            "kazoo sees %s only with extra_lock_patterns", kind_names[unseen]);
    else
        hf_finding_add(list, HF_FINE, "names", NULL, "all clients in it see each other");
    if (facts->blocker[0] != '\0')
        hf_finding_add(
            list, HF_FAULT, "other nodes", "delete that node",
            "%zu; \"%s\" sorts before all places: Curator waits for it forever",
            facts->foreign, facts->blocker);
    else if (facts->foreign > 0)
        hf_finding_add(list, HF_WARNING, "other nodes", "keep other data elsewhere",
                       "%zu that are not places, such as \"%s\"", facts->foreign,
                       facts->foreign_name);
}

void hf_zk_folder_report(const struct hf_zk *zk, const struct hf_zk_line *line,
                         const struct hf_zk_folder_facts *facts,
                         struct hf_finding_list          *list)
{
    if (facts->list_error == HF_ZK_NO_NODE) {
        hf_finding_add(list, HF_FINE, "folder", NULL,
                       "%s does not exist; the first client creates it", line->folder);
        return;
    }
    if (facts->list_error != 0) {
        hf_finding_add(
            list, HF_FAULT, "folder",
            facts->list_error == HF_ZK_NO_AUTH
                ? "use the identity that created it, or acl= for a group that shares it"
                : NULL,
            "%s cannot be read: %s", line->folder,
            facts->list_error == HF_ZK_NO_AUTH ? "this client may not"
                                               : "ZooKeeper refuses");
        return;
    }
    report_folder(zk, line, facts, list);
    hf_finding_add(list, HF_FINE, "line", NULL, "%zu hold \"%s\", %zu wait",
                   facts->holders, line->name, facts->waiters);
    report_numbers(facts, list);
    report_kinds(facts, list);
}
