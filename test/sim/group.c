/* group.c - several locks as one: all are acquired within one time limit, or none.
 *
 * A group acquires its parts in the order of their names, which is the same in every
 * client: so there is no deadlock.  An eager group requests all parts at once, and leaves
 * those behind the first that it has to wait for.
 */
#include "sim.h"

#include "holdfast.h"

#include <string.h>

/* ---- Parts --------------------------------------------------------------------- */

static void sort(struct group *group)
{
    for (size_t i = 1; i < group->parts; i++)
        for (size_t j = i; j > 0; j--) {
            struct wish *a = group->part[j - 1], *b = group->part[j];
            if (strcmp(a->name->text, b->name->text) < 0)
                break;
            group->part[j - 1] = b;
            group->part[j] = a;
        }
}

static bool has_name(const struct group *group, const struct name *name)
{
    for (size_t i = 0; i < group->parts; i++)
        if (group->part[i]->name == name)
            return true;
    return false;
}

/* The first wishes of the client, each for a different name. */
void group_plan(struct sim *sim, size_t client)
{
    struct group *group = &sim->group[client];

    *group = (struct group){ .sim = sim, .act = HF_NEVER };
    if (!sim->grouped || sim_maybe(sim, 20))
        return;
    for (size_t i = 0; i < sim->wishes; i++)
        if (!has_name(group, sim->wish[client][i].name))
            group->part[group->parts++] = &sim->wish[client][i];
    if (group->parts < 2) {
        group->parts = 0;
        return;
    }
    for (size_t i = 0; i < group->parts; i++) {
        group->part[i]->group = group;
        group->part[i]->act = HF_NEVER;
    }
    sort(group);
    group->rounds = 1 + (unsigned)sim_draw(sim, 2);
    group->act = sim->net.now + sim_span(sim, 0, 30 * HF_MS);
}

/* ---- Acquiring and releasing --------------------------------------------------- */

static void want_next(struct group *group)
{
    do {
        struct wish *part = group->part[group->wanted++];
        part->waits_for_ever = group->deadline == HF_NEVER;
        hf_job_want(&part->job, group->once, group->deadline);
    } while (group->eager && group->wanted < group->parts);
}

static void start(struct sim *sim, struct group *group)
{
    hf_time now = sim_client_clock(group->part[0]->client, sim->net.now);
    bool    ever = sim_maybe(sim, 50);

    group->once = sim_maybe(sim, 10);
    group->deadline = now + (group->once ? HF_SEC : app_while(sim));
    if (ever && !group->once)
        group->deadline = HF_NEVER;
    group->rounds--;
    group->wanted = 0;
    group->eager = sim_maybe(sim, 50);
    group->state = GROUP_TAKING;
    group->act = sim_maybe(sim, 15) ? sim->net.now + app_while(sim) : HF_NEVER;
    sim_tell(sim, "the group of %s wants all its parts", group->part[0]->label);
    want_next(group);
}

/* In reverse order.  Parts that are leaving already go on. */
static void drop(struct group *group, size_t from)
{
    for (size_t i = group->wanted; i-- > from;) {
        struct wish *part = group->part[i];
        if (part->state == HF_HOLD_HELD || part->state == HF_HOLD_LOST)
            hf_job_drop(&part->job, 0);
        else if (sim_waiting(part))
            hf_job_drop(&part->job, HF_ECANCELED);
    }
}

static void give(struct group *group)
{
    group->state = GROUP_GIVING;
    group->act = HF_NEVER;
    group->poked = true;
    drop(group, 0);
}

static size_t count_in(const struct group *group, enum hf_hold_state state)
{
    size_t count = 0;

    for (size_t i = 0; i < group->wanted; i++)
        count += group->part[i]->state == state;
    return count;
}

static bool are_quiet(const struct group *group, size_t from)
{
    for (size_t i = from; i < group->parts; i++)
        if (!hf_job_quiet(&group->part[i]->job))
            return false;
    return true;
}

/* It has to wait for one part: its places in later queues would only block others. */
static void give_up_behind(struct sim *sim, struct group *group, size_t first)
{
    enum hf_hold_state state = group->part[first]->state;
    bool               waits = state == HF_HOLD_WAITING || state == HF_HOLD_OUTSIDE;

    if (!waits || group->wanted == first + 1)
        return;
    sim->seen[SEEN_GIVE_UP]++;
    drop(group, first + 1);
    group->wanted = first + 1;
}

static void take(struct sim *sim, struct group *group)
{
    size_t held = count_in(group, HF_HOLD_HELD), waits = 0, first = 0;
    bool   canceled = sim->net.now >= group->act;

    for (size_t i = 0; i < group->wanted; i++)
        waits += sim_waiting(group->part[i]);
    while (first < group->wanted && group->part[first]->state == HF_HOLD_HELD)
        first++;
    if (canceled || held + waits < group->wanted) { /* one failed, or was lost */
        sim->seen[SEEN_ROLLBACK]++;
        give(group);
    } else if (held == group->parts) {
        sim->seen[SEEN_GROUP]++;
        sim_tell(sim, "the group of %s holds all its parts", group->part[0]->label);
        group->state = GROUP_HELD;
        group->act = sim->net.now + app_while(sim);
    } else if (first < group->wanted) {
        give_up_behind(sim, group, first);
    } else if (are_quiet(group, first)) {
        want_next(group);
    }
}

static void rest(struct sim *sim, struct group *group)
{
    group->state = GROUP_REST;
    group->act = group->rounds > 0 ? sim->net.now + app_while(sim) : HF_NEVER;
}

void group_run(struct sim *sim, struct group *group)
{
    group->poked = false;
    switch (group->state) {
    case GROUP_REST:
        if (sim->net.now < group->act)
            break;
        group->act = HF_NEVER;
        if (!sim->calm)
            start(sim, group);
        break;
    case GROUP_TAKING:
        take(sim, group);
        break;
    case GROUP_HELD:
        if (sim->net.now >= group->act || count_in(group, HF_HOLD_LOST) > 0)
            give(group);
        break;
    case GROUP_GIVING:
        if (are_quiet(group, 0))
            rest(sim, group);
        break;
    }
}

hf_time group_next(const struct group *group)
{
    return group->poked ? 0 : group->act;
}

bool group_over(const struct group *group)
{
    return group->parts == 0 || group->state == GROUP_REST;
}
