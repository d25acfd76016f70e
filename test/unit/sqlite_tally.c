/* sqlite_tally.c - the sum of a long line is kept, and is right whatever happens to the line. */
/* one thread */
#include "lib/lab.h"
#include "lib/testament.h"

#include "base/random.h"
#include "holdfast.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAYERS 3
#define PLACES  200
#define STEPS   500
#define CROWD   60 /* enough for a tally */

#define LAST "ticket AS t WHERE seq = (SELECT max(seq) FROM ticket WHERE line = t.line)"
#define WRONG                                                      \
    "SELECT count(*) FROM " LAST " AND (places, waits, total) <> " \
    "(SELECT count(*), sum(granted = 0), sum(weight) FROM ticket WHERE line = t.line)"

struct place {
    size_t   player;
    uint64_t id, place;
    bool     writer;
};

struct stage {
    const struct lab *lab;
    struct player     player[PLAYERS];
    struct place      place[PLACES];
    size_t            count;
};

static uint64_t luck;

static size_t pick(size_t of)
{
    return hf_random_next(&luck) % of;
}

static int64_t length_of(const struct lab *lab)
{
    return lab_sql(lab, "SELECT count(*) FROM ticket WHERE line = 'x'");
}

static void join(struct stage *stage)
{
    size_t        player = pick(PLAYERS);
    bool          writer = pick(4) == 0;
    struct ask    ask;
    struct place *place = &stage->place[stage->count];

    if (stage->count == PLACES)
        return;
    uint64_t id = enter(&stage->player[player], "x", writer ? WRITER : READER, &ask);
    assert_true(has_place(&ask));
    if (!is_granted(&ask))
        assert_int_equal(ahead_of(&ask), length_of(stage->lab) - 1);
    *place = (struct place){ player, id, place_of(&ask), writer };
    stage->count++;
}

static void part(struct stage *stage)
{
    if (stage->count == 0)
        return;
    size_t         which = pick(3) == 0 ? 0 : pick(stage->count);
    struct place   place = stage->place[which];
    struct player *other = &stage->player[(place.player + 1) % PLAYERS];

    if (pick(4) == 0)
        assert_int_equal(take_away(other, "x", place.place), 0);
    else
        assert_int_equal(leave(&stage->player[place.player], "x", place.id), 0);
    stage->count--;
    memmove(&stage->place[which], &stage->place[which + 1],
            (stage->count - which) * sizeof place);
}

static void lessen(struct stage *stage)
{
    struct ask ask;

    for (size_t i = 0; i < stage->count; i++) {
        struct place *place = &stage->place[i];
        if (!place->writer)
            continue;
        (void)amend(&stage->player[place->player], "x", place->id, READER, &ask);
        place->writer = false;
        return;
    }
}

/* Ten that are killed: whoever meets them removes them. */
static void crowd(struct child *parent)
{
    struct player player;
    struct ask    ask;

    player_open(&player);
    for (int i = 0; i < 10; i++)
        enter(&player, "x", i % 2 == 0 ? READER : WRITER, &ask);
    child_say(parent);
    child_hear(parent, -1);
}

static void die(struct stage *stage)
{
    struct child child;
    struct ask   ask;

    child_start(&child, crowd);
    assert_true(child_hear(&child, 10000));
    child_kill(&child);
    if (stage->count > 0) {
        struct place *last = &stage->place[stage->count - 1];
        assert_int_equal(look(&stage->player[last->player], "x", last->id, &ask), 0);
    }
}

/* All places of one session go at once. */
static void be_ended(void)
{
    struct testament will;
    struct player    player;
    struct ask       ask;

    player_open(&player);
    for (int i = 0; i < 5; i++)
        enter(&player, "x", i % 2 == 0 ? READER : WRITER, &ask);
    testament_write(&player, &will);
    testament_execute(&will);
    player_close(&player);
}

static void a_tally_is_never_wrong(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);
    const char   *given = getenv("HF_TALLY_SEED");

    luck = given != NULL ? strtoull(given, NULL, 0) : hf_random();
    print_message("HF_TALLY_SEED=%" PRIu64 "\n", luck);
    stage->lab = *state;
    for (size_t i = 0; i < PLAYERS; i++)
        player_open(&stage->player[i]);
    join(stage); /* there are files now */
    for (int step = 0; step < STEPS; step++) {
        size_t what = pick(100);
        bool   grows = step < STEPS / 2; /* then the line goes away */
        if (what < 3)
            die(stage);
        else if (what < 6)
            lessen(stage);
        else if (what < 9)
            be_ended();
        else if (what < (grows ? 75u : 35u))
            join(stage);
        else
            part(stage);
        assert_int_equal(lab_sql(stage->lab, WRONG), 0);
    }
    while (stage->count > 0) {
        part(stage);
        assert_int_equal(lab_sql(stage->lab, WRONG), 0);
    }
    for (size_t i = 0; i < PLAYERS; i++)
        player_close(&stage->player[i]);
    free(stage);
}

static void queue(struct player *player, struct ask *last)
{
    for (int i = 0; i < CROWD; i++)
        enter(player, "x", MUTEX, last);
}

/* Programs that know nothing of it, and programs that get it wrong. */
static void a_sum_that_is_wrong_is_not_used(void **state)
{
    static const char *const change[] = {
        "UPDATE ticket SET places = 0, waits = 0, total = 0 WHERE line = 'x'",
        "INSERT INTO ticket(line, seq, sid, weight, capacity, claim, queued, granted, slot, "
        "note) SELECT line, max(seq) + 1, sid, weight, capacity, claim, queued, 0, slot, "
        "note FROM ticket WHERE line = 'x'",
    };
    const struct lab *lab = *state;
    struct player     player;
    struct ask        ask;

    player_open(&player);
    queue(&player, &ask);
    assert_int_equal(ahead_of(&ask), CROWD - 1);
    for (size_t i = 0; i < 2; i++) {
        lab_sql(lab, change[i]);
        enter(&player, "x", MUTEX, &ask);
        assert_int_equal(ahead_of(&ask), length_of(lab) - 1);
        assert_int_equal(lab_sql(lab, WRONG), 0);
    }
    player_close(&player);
}

/* Many hold, one waits and counts them; who comes then holds, and is counted, too. */
static void holders_count(void **state)
{
    const struct lab *lab = *state;
    struct player     player;
    struct ask        ask;

    player_open(&player);
    for (int i = 0; i < CROWD; i++)
        enter(&player, "x", READER, &ask);
    uint64_t writer = enter(&player, "x", WRITER, &ask);
    assert_int_equal(ahead_of(&ask), CROWD);
    assert_int_equal(leave(&player, "x", writer), 0);
    enter(&player, "x", READER, &ask);
    assert_true(is_granted(&ask));
    assert_int_equal(lab_sql(lab, WRONG), 0);
    enter(&player, "x", WRITER, &ask);
    assert_int_equal(ahead_of(&ask), CROWD + 1);
    player_close(&player);
}

/* So many wait already: that is known by the tally, too. */
static void a_limit_is_kept_by_it(void **state)
{
    struct player player, other;
    struct ask    ask;

    (void)state;
    player_open(&player);
    player_open(&other);
    queue(&player, &ask);
    ask = (struct ask){ .req = { .op = HF_ENTER,
                                 .name = "x",
                                 .id = 1,
                                 .shape = MUTEX,
                                 .limit = CROWD - 1 } };
    assert_int_equal(player_run(&other, &ask), HF_EFULL);
    ask.req.limit = CROWD;
    assert_int_equal(player_run(&other, &ask), 0);
    assert_int_equal(ahead_of(&ask), CROWD);
    player_close(&other);
    player_close(&player);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_tally_is_never_wrong, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(a_sum_that_is_wrong_is_not_used, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(holders_count, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(a_limit_is_kept_by_it, lab_setup, lab_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
