/* sqlite_history.c - HISTORY on the file store: the dead, how much is kept, a full disk. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT 10000 /* ms */

struct recall {
    struct hf_req req;
    unsigned      answers;
    int           status;
    size_t        count;
    uint64_t      first, last; /* numbers */
    char          what[1100];  /* letters, of the first thousand */
    size_t        longest;     /* note */
    size_t        gaps;        /* between numbers */
    uint64_t      holder;      /* token; 0: none */
    size_t        untrue; /* granted while another held it, or ended without a grant */
};

/* The history of one mutex: is it one that can have happened? */
static void judge(struct recall *recall, const struct hf_past *past)
{
    if (past->what == HF_PAST_GRANTED) {
        recall->untrue += recall->holder != 0;
        recall->holder = past->token;
    } else if (past->what == HF_PAST_RELEASED || past->what == HF_PAST_LOST) {
        recall->untrue += recall->holder != past->token;
        recall->holder = 0;
    }
}

static void on_done(struct hf_req *req)
{
    struct recall *recall = req->data;

    recall->answers++;
    recall->status = req->status;
    recall->count = req->pasts;
    recall->last = req->stamp;
    for (size_t i = 0; i < req->pasts; i++) {
        size_t length = strlen(req->past[i].note);
        if (i == 0)
            recall->first = req->past[i].number;
        else
            recall->gaps += req->past[i].number != req->past[i - 1].number + 1;
        judge(recall, &req->past[i]);
        if (i < 1000)
            recall->what[i] = req->past[i].what;
        if (length > recall->longest)
            recall->longest = length;
    }
}

static int recall_after(struct player *player, uint64_t number, struct recall *recall)
{
    hf_time end = hf_now() + LIMIT * HF_MS;

    *recall = (struct recall){ .req = { .op = HF_HISTORY, .done = on_done } };
    recall->req.data = recall;
    recall->req.stamp = number;
    player->store->impl->submit(player->store, &recall->req);
    while (recall->answers == 0 && hf_now() < end)
        player_turn(player, 1);
    assert_int_equal(recall->answers, 1);
    return recall->status;
}

static int recall_all(struct player *player, struct recall *recall)
{
    return recall_after(player, 0, recall);
}

/* From now on players open the store with that parameter. */
static void use_history(const struct lab *lab, int keep)
{
    static char url[200];

    snprintf(url, sizeof url, "%s?history=%d", lab->url, keep);
    promise_use(url);
}

static void take_turns(struct player *player, int times)
{
    for (int i = 0; i < times; i++) {
        struct ask ask;
        uint64_t   id = enter(player, "x", MUTEX, &ask);
        assert_int_equal(leave(player, "x", id), 0);
    }
}

static void hold(struct child *parent)
{
    struct player player;
    struct ask    ask;

    child_take(parent, &player, MUTEX, &ask);
    child_hear(parent, -1);
}

/* Nobody met it until somebody asks what happened. */
static void a_killed_holder_is_lost(void **state)
{
    struct player player;
    struct recall recall;
    struct child  child;

    use_history(*state, 100);
    player_open(&player);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    child_kill(&child);
    assert_int_equal(recall_all(&player, &recall), 0);
    assert_string_equal(recall.what, "gx");
    player_close(&player);
}

/* It comes after the dead one at once, before anybody has written that down. */
static void who_follows_a_killed_one(void **state)
{
    struct player player;
    struct recall recall;
    struct child  child;
    struct ask    ask;

    use_history(*state, 100);
    player_open(&player);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    enter(&player, "x", MUTEX, &ask);
    child_kill(&child);
    assert_true(wait_for_turn(&player, "x", &ask, LIMIT));
    assert_int_equal(leave(&player, "x", ask.req.id), 0);
    assert_int_equal(recall_all(&player, &recall), 0);
    assert_string_equal(recall.what, "gexgr");
    player_close(&player);
}

static void take_turns_for_ever(struct child *parent)
{
    struct player player;

    player_open(&player);
    child_say(parent);
    for (;;)
        take_turns(&player, 1);
}

/* A writer that is killed inside its commit has changed the line and recorded it, or neither. */
static void killed_writers_leave_true_records(void **state)
{
    enum { ROUNDS = 100 };
    struct player player;
    struct recall recall;
    unsigned      seed = (unsigned)hf_now();

    print_message("seed %u\n", seed);
    use_history(*state, 100000);
    player_open(&player);
    for (int i = 0; i < ROUNDS; i++) {
        struct child    child;
        struct timespec life = { .tv_nsec = 1000000 + rand_r(&seed) % 4000000 };
        child_start(&child, take_turns_for_ever);
        assert_true(child_hear(&child, LIMIT));
        nanosleep(&life, NULL); /* any moment will do */
        child_kill(&child);
        take_turns(&player, 1);
    }
    assert_int_equal(recall_all(&player, &recall), 0);
    assert_true(recall.count > ROUNDS);
    assert_int_equal(recall.gaps, 0);
    assert_int_equal(recall.untrue, 0);
    player_close(&player);
}

/* They are read by others than wrote them. */
static void the_last_ones_are_kept(void **state)
{
    struct player player, other;
    struct recall recall;

    use_history(*state, 300);
    player_open(&player);
    player_open(&other);
    for (int round = 1; round <= 8; round++) {
        take_turns(round % 2 != 0 ? &player : &other, 200);
        assert_int_equal(recall_all(&other, &recall), 0);
        assert_int_equal(recall.count, 300);
        assert_int_equal(recall.last, 400 * round);
        assert_int_equal(recall.first, 400 * round - 299);
        assert_int_equal(strspn(recall.what, "gr"), 300);
        assert_int_equal(recall.gaps, 0);
    }
    player_close(&other);
    player_close(&player);
}

static void long_notes(void **state)
{
    struct player player;
    struct recall recall;
    char          note[4000];

    use_history(*state, 150);
    player_open(&player);
    memset(note, 'n', sizeof note - 1);
    note[sizeof note - 1] = '\0';
    for (int i = 0; i < 100; i++) {
        struct ask ask = { .req = { .op = HF_ENTER, .name = "x", .id = ++player.ids } };
        ask.req.shape = MUTEX;
        ask.req.note = note;
        assert_int_equal(player_run(&player, &ask), 0);
        assert_int_equal(leave(&player, "x", ask.req.id), 0);
    }
    assert_int_equal(recall_all(&player, &recall), 0);
    assert_int_equal(recall.count, 150);
    assert_int_equal(recall.last, 200);
    assert_int_equal(recall.longest, sizeof note - 1);
    player_close(&player);
}

/* More rows than are told are there only until there is a piece of them to be removed. */
static void rows_are_removed(void **state)
{
    struct lab   *lab = *state;
    struct player player;

    use_history(lab, 10);
    player_open(&player);
    for (int i = 0; i < 20; i++) {
        take_turns(&player, 30);
        assert_in_range(lab_sql(lab, "SELECT count(*) FROM past"), 10, 10 + 64);
    }
    player_close(&player);
    use_history(lab, 0);
    player_open(&player);
    assert_int_equal(lab_sql(lab, "SELECT count(*) FROM past"), 1); /* for its number */
    assert_int_equal(lab_sql(lab, "SELECT sum(length(note)) FROM past"), 0);
    player_close(&player);
}

static void another_length(void **state)
{
    struct player player;
    struct recall recall;

    static const int keeps[] = { 50, 500, 7, 7, 100 };
    static const int kept[] = { 50, 60, 7, 7, 17 };
    use_history(*state, 200);
    player_open(&player);
    take_turns(&player, 300);
    player_close(&player);
    for (int i = 0; i < 5; i++) {
        use_history(*state, keeps[i]);
        player_open(&player);
        assert_int_equal(recall_all(&player, &recall), 0);
        assert_int_equal(recall.last, 600 + 10 * i);
        take_turns(&player, 5);
        assert_int_equal(recall_all(&player, &recall), 0);
        assert_int_equal(recall.count, keeps[i] < kept[i] ? keeps[i] : kept[i]);
        assert_int_equal(recall.last, 610 + 10 * i);
        player_close(&player);
    }

    /* Off, and on again: the numbers go on. */
    use_history(*state, 0);
    player_open(&player);
    assert_int_equal(recall_all(&player, &recall), HF_ENOTFOUND);
    take_turns(&player, 5);
    player_close(&player);
    use_history(*state, 10);
    player_open(&player);
    assert_int_equal(recall_all(&player, &recall), 0);
    assert_int_equal(recall.count, 0);
    take_turns(&player, 1);
    assert_int_equal(recall_all(&player, &recall), 0);
    assert_int_equal(recall.first, 651);
    player_close(&player);
}

/* Whatever somebody wrote there, locks work, and it can be told. */
static void nonsense_in_the_table(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct recall recall;

    use_history(lab, 200);
    player_open(&player);
    take_turns(&player, 10);
    lab_sql(lab, "UPDATE past SET what = number * 1000, weight = -number, slot = 'x',"
                 " note = x'ff00ff', time = 'x' WHERE number % 2");
    lab_sql(lab,
            "INSERT INTO past SELECT -1, time, what, line, seq, weight, capacity, claim,"
            " slot, note, reason FROM past WHERE number = 2");
    assert_int_equal(recall_all(&player, &recall), 0);
    assert_int_equal(recall.count, 20);
    take_turns(&player, 10);
    assert_int_equal(recall_all(&player, &recall), 0);
    assert_int_equal(recall.count, 40);
    player_close(&player);
}

/* One who knows of later records than there are knew another file. */
static void another_file(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct recall recall;

    use_history(lab, 100);
    player_open(&player);
    take_turns(&player, 3);
    assert_int_equal(recall_after(&player, 4, &recall), 0);
    assert_string_equal(recall.what, "gr");
    assert_int_equal(recall_after(&player, 6, &recall), 0);
    assert_string_equal(recall.what, "");
    assert_int_equal(recall_after(&player, 7, &recall), 0);
    assert_string_equal(recall.what, "grgrgr");
    player_close(&player);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_killed_holder_is_lost),
        TEST(who_follows_a_killed_one),
        TEST(killed_writers_leave_true_records),
        TEST(the_last_ones_are_kept),
        TEST(long_notes),
        TEST(rows_are_removed),
        TEST(another_length),
        TEST(nonsense_in_the_table),
        TEST(another_file),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
