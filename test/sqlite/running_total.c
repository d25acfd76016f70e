/* running_total.c - the running total of a line is right, whatever happens to the
 * line. */
/* one thread */
#include "lib/session_keys.h"
#include "lib/temp_store.h"

#include "base/random.h"
#include "holdfast.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAYERS 3
#define PLACES  200
#define STEPS   500
#define MANY    60

#define LAST "place AS t WHERE seq = (SELECT max(seq) FROM place WHERE line = t.line)"
#define WRONG                                                      \
    "SELECT count(*) FROM " LAST " AND (places, waits, total) <> " \
    "(SELECT count(*), sum(granted = 0), sum(weight) FROM place WHERE line = t.line)"

struct place {
    size_t   player;
    uint64_t id, place;
    bool     writer;
};

struct scene {
    const struct temp_store *temp;
    struct player            player[PLAYERS];
    struct place             place[PLACES];
    size_t                   count;
};

static uint64_t seed;

static size_t pick(size_t of)
{
    return hf_random_next(&seed) % of;
}

static int64_t length_of(const struct temp_store *temp)
{
    return temp_sql(temp, "SELECT count(*) FROM place WHERE line = 'x'");
}

static void enter_one(struct scene *scene)
{
    size_t         player = pick(PLAYERS);
    bool           writer = pick(4) == 0;
    struct request request;
    struct place  *place = &scene->place[scene->count];

    if (scene->count == PLACES)
        return;
    uint64_t id = enter(&scene->player[player], "x", writer ? WRITER : READER, &request);
    assert_true(has_place(&request));
    if (!is_granted(&request))
        assert_int_equal(ahead_of(&request), length_of(scene->temp) - 1);
    *place = (struct place){ player, id, place_of(&request), writer };
    scene->count++;
}

static void leave_one(struct scene *scene)
{
    if (scene->count == 0)
        return;
    size_t         which = pick(3) == 0 ? 0 : pick(scene->count);
    struct place   place = scene->place[which];
    struct player *other = &scene->player[(place.player + 1) % PLAYERS];

    if (pick(4) == 0)
        assert_int_equal(take_away(other, "x", place.place), 0);
    else
        assert_int_equal(leave(&scene->player[place.player], "x", place.id), 0);
    scene->count--;
    memmove(&scene->place[which], &scene->place[which + 1],
            (scene->count - which) * sizeof place);
}

static void downgrade_one(struct scene *scene)
{
    struct request request;

    for (size_t i = 0; i < scene->count; i++) {
        struct place *place = &scene->place[i];
        if (!place->writer)
            continue;
        (void)downgrade(&scene->player[place->player], "x", place->id, READER, &request);
        place->writer = false;
        return;
    }
}

/* Ten places of a process that is killed: clients that meet them remove them. */
static void enter_ten(struct child *parent)
{
    struct player  player;
    struct request request;

    player_open(&player);
    for (int i = 0; i < 10; i++)
        enter(&player, "x", i % 2 == 0 ? READER : WRITER, &request);
    child_say(parent);
    child_hear(parent, -1);
}

static void kill_ten(struct scene *scene)
{
    struct child   child;
    struct request request;

    child_start(&child, enter_ten);
    assert_true(child_hear(&child, 10000));
    child_kill(&child);
    if (scene->count > 0) {
        struct place *last = &scene->place[scene->count - 1];
        assert_int_equal(look(&scene->player[last->player], "x", last->id, &request), 0);
    }
}

/* All places of one session go at once. */
static void end_a_session(void)
{
    struct session_key key;
    struct player      player;
    struct request     request;

    player_open(&player);
    for (int i = 0; i < 5; i++)
        enter(&player, "x", i % 2 == 0 ? READER : WRITER, &request);
    session_key_write(&player, &key);
    session_key_end(&key);
    player_close(&player);
}

static void running_total_is_always_right(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    const char   *given = getenv("HF_TOTAL_SEED");

    seed = given != NULL ? strtoull(given, NULL, 0) : hf_random();
    print_message("HF_TOTAL_SEED=%" PRIu64 "\n", seed);
    scene->temp = *state;
    for (size_t i = 0; i < PLAYERS; i++)
        player_open(&scene->player[i]);
    enter_one(scene); /* so that there are files */
    for (int step = 0; step < STEPS; step++) {
        size_t what = pick(100);
        bool   grows = step < STEPS / 2; /* then it shrinks */
        if (what < 3)
            kill_ten(scene);
        else if (what < 6)
            downgrade_one(scene);
        else if (what < 9)
            end_a_session();
        else if (what < (grows ? 75u : 35u))
            enter_one(scene);
        else
            leave_one(scene);
        assert_int_equal(temp_sql(scene->temp, WRONG), 0);
    }
    while (scene->count > 0) {
        leave_one(scene);
        assert_int_equal(temp_sql(scene->temp, WRONG), 0);
    }
    for (size_t i = 0; i < PLAYERS; i++)
        player_close(&scene->player[i]);
    free(scene);
}

static void queue(struct player *player, struct request *last)
{
    for (int i = 0; i < MANY; i++)
        enter(player, "x", MUTEX, last);
}

/* Another program has erased the total, or added a row without one. */
static void line_without_a_total_is_counted(void **state)
{
    static const char *const change[] = {
        "UPDATE place SET places = 0, waits = 0, total = 0 WHERE line = 'x'",
        "INSERT INTO place(line, seq, sid, weight, capacity, claim, queued, granted, slot, "
        "note) SELECT line, max(seq) + 1, sid, weight, capacity, claim, queued, 0, slot, "
        "note FROM place WHERE line = 'x'",
    };
    const struct temp_store *temp = *state;
    struct player            player;
    struct request           request;

    player_open(&player);
    queue(&player, &request);
    assert_int_equal(ahead_of(&request), MANY - 1);
    for (size_t i = 0; i < 2; i++) {
        temp_sql(temp, change[i]);
        enter(&player, "x", MUTEX, &request);
        assert_int_equal(ahead_of(&request), length_of(temp) - 1);
        assert_int_equal(temp_sql(temp, WRONG), 0);
    }
    player_close(&player);
}

/* Many hold, one waits and counts them; a later holder is counted, too. */
static void holders_are_counted(void **state)
{
    const struct temp_store *temp = *state;
    struct player            player;
    struct request           request;

    player_open(&player);
    for (int i = 0; i < MANY; i++)
        enter(&player, "x", READER, &request);
    uint64_t writer = enter(&player, "x", WRITER, &request);
    assert_int_equal(ahead_of(&request), MANY);
    assert_int_equal(leave(&player, "x", writer), 0);
    enter(&player, "x", READER, &request);
    assert_true(is_granted(&request));
    assert_int_equal(temp_sql(temp, WRONG), 0);
    enter(&player, "x", WRITER, &request);
    assert_int_equal(ahead_of(&request), MANY + 1);
    player_close(&player);
}

/* The running total says how many wait. */
static void limit_counts_by_the_running_total(void **state)
{
    struct player  player, other;
    struct request request;

    (void)state;
    player_open(&player);
    player_open(&other);
    queue(&player, &request);
    request = (struct request){
        .req = { .op = HF_ENTER, .name = "x", .id = 1, .shape = MUTEX, .limit = MANY - 1 }
    };
    assert_int_equal(player_run(&other, &request), HF_EFULL);
    request.req.limit = MANY;
    assert_int_equal(player_run(&other, &request), 0);
    assert_int_equal(ahead_of(&request), MANY);
    player_close(&other);
    player_close(&player);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(running_total_is_always_right, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(line_without_a_total_is_counted, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(holders_are_counted, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(limit_counts_by_the_running_total, temp_setup,
                                        temp_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
