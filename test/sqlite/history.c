/* history.c - HISTORY on the file store: killed clients, and how much is kept. */
/* one thread */
#include "lib/temp_store.h"

#include "holdfast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT 10000 /* ms */

struct answer {
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

/* Check that the history of a mutex is possible. */
static void judge(struct answer *answer, const struct hf_history_row *entry)
{
    if (entry->what == HF_HISTORY_GRANTED) {
        answer->untrue += answer->holder != 0;
        answer->holder = entry->token;
    } else if (entry->what == HF_HISTORY_RELEASED || entry->what == HF_HISTORY_LOST) {
        answer->untrue += answer->holder != entry->token;
        answer->holder = 0;
    }
}

static void on_done(struct hf_req *req)
{
    struct answer *answer = req->data;

    answer->answers++;
    answer->status = req->status;
    answer->count = req->entries;
    answer->last = req->stamp;
    for (size_t i = 0; i < req->entries; i++) {
        size_t length = strlen(req->entry[i].note);
        if (i == 0)
            answer->first = req->entry[i].number;
        else
            answer->gaps += req->entry[i].number != req->entry[i - 1].number + 1;
        judge(answer, &req->entry[i]);
        if (i < 1000)
            answer->what[i] = req->entry[i].what;
        if (length > answer->longest)
            answer->longest = length;
    }
}

static int read_after(struct player *player, uint64_t number, struct answer *answer)
{
    hf_time end = hf_now() + LIMIT * HF_MS;

    *answer = (struct answer){ .req = { .op = HF_HISTORY, .done = on_done } };
    answer->req.data = answer;
    answer->req.stamp = number;
    player->store->impl->submit(player->store, &answer->req);
    while (answer->answers == 0 && hf_now() < end)
        player_turn(player, 1);
    assert_int_equal(answer->answers, 1);
    return answer->status;
}

static int read_all(struct player *player, struct answer *answer)
{
    return read_after(player, 0, answer);
}

/* From now on players open the store with ?history=. */
static void use_history(const struct temp_store *temp, int keep)
{
    static char url[200];

    snprintf(url, sizeof url, "%s?history=%d", temp->url, keep);
    promise_use(url);
}

static void take_turns(struct player *player, int times)
{
    for (int i = 0; i < times; i++) {
        struct request request;
        uint64_t       id = enter(player, "x", MUTEX, &request);
        assert_int_equal(leave(player, "x", id), 0);
    }
}

static void hold(struct child *parent)
{
    struct player  player;
    struct request request;

    child_take(parent, &player, MUTEX, &request);
    child_hear(parent, -1);
}

/* No client meets the dead place before HISTORY. */
static void killed_holder_is_recorded_as_lost(void **state)
{
    struct player player;
    struct answer answer;
    struct child  child;

    use_history(*state, 100);
    player_open(&player);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    child_kill(&child);
    assert_int_equal(read_all(&player, &answer), 0);
    assert_string_equal(answer.what, "gx");
    player_close(&player);
}

/* It is granted before any client has recorded the loss. */
static void next_holder_records_the_loss_first(void **state)
{
    struct player  player;
    struct answer  answer;
    struct child   child;
    struct request request;

    use_history(*state, 100);
    player_open(&player);
    child_start(&child, hold);
    assert_true(child_hear(&child, LIMIT));
    enter(&player, "x", MUTEX, &request);
    child_kill(&child);
    assert_true(wait_for_turn(&player, "x", &request, LIMIT));
    assert_int_equal(leave(&player, "x", request.req.id), 0);
    assert_int_equal(read_all(&player, &answer), 0);
    assert_string_equal(answer.what, "gexgr");
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

/* A writer that is killed in its commit has changed the line and added the entry, or
 * neither. */
static void killed_writers_leave_a_true_history(void **state)
{
    enum { ROUNDS = 100 };
    struct player player;
    struct answer answer;
    unsigned      seed = (unsigned)hf_now();

    print_message("seed %u\n", seed);
    use_history(*state, 100000);
    player_open(&player);
    for (int i = 0; i < ROUNDS; i++) {
        struct child    child;
        struct timespec life = { .tv_nsec = 1000000 + rand_r(&seed) % 4000000 };
        child_start(&child, take_turns_for_ever);
        assert_true(child_hear(&child, LIMIT));
        nanosleep(&life, NULL); /* kill it at any moment */
        child_kill(&child);
        take_turns(&player, 1);
    }
    assert_int_equal(read_all(&player, &answer), 0);
    assert_true(answer.count > ROUNDS);
    assert_int_equal(answer.gaps, 0);
    assert_int_equal(answer.untrue, 0);
    player_close(&player);
}

/* Another client reads them. */
static void latest_entries_are_kept(void **state)
{
    struct player player, other;
    struct answer answer;

    use_history(*state, 300);
    player_open(&player);
    player_open(&other);
    for (int round = 1; round <= 8; round++) {
        take_turns(round % 2 != 0 ? &player : &other, 200);
        assert_int_equal(read_all(&other, &answer), 0);
        assert_int_equal(answer.count, 300);
        assert_int_equal(answer.last, 400 * round);
        assert_int_equal(answer.first, 400 * round - 299);
        assert_int_equal(strspn(answer.what, "gr"), 300);
        assert_int_equal(answer.gaps, 0);
    }
    player_close(&other);
    player_close(&player);
}

static void long_notes_do_not_fill_the_file(void **state)
{
    struct player player;
    struct answer answer;
    char          note[4000];

    use_history(*state, 150);
    player_open(&player);
    memset(note, 'n', sizeof note - 1);
    note[sizeof note - 1] = '\0';
    for (int i = 0; i < 100; i++) {
        struct request request = {
            .req = { .op = HF_ENTER, .name = "x", .id = ++player.ids }
        };
        request.req.shape = MUTEX;
        request.req.note = note;
        assert_int_equal(player_run(&player, &request), 0);
        assert_int_equal(leave(&player, "x", request.req.id), 0);
    }
    assert_int_equal(read_all(&player, &answer), 0);
    assert_int_equal(answer.count, 150);
    assert_int_equal(answer.last, 200);
    assert_int_equal(answer.longest, sizeof note - 1);
    player_close(&player);
}

/* Rows that HISTORY does not return any more are removed in pieces. */
static void old_rows_are_removed(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;

    use_history(temp, 10);
    player_open(&player);
    for (int i = 0; i < 20; i++) {
        take_turns(&player, 30);
        assert_in_range(temp_sql(temp, "SELECT count(*) FROM past"), 10, 10 + 64);
    }
    player_close(&player);
    use_history(temp, 0);
    player_open(&player);
    assert_int_equal(temp_sql(temp, "SELECT count(*) FROM past"), 1); /* for its number */
    assert_int_equal(temp_sql(temp, "SELECT sum(length(note)) FROM past"), 0);
    player_close(&player);
}

static void history_length_can_be_changed(void **state)
{
    struct player player;
    struct answer answer;

    static const int keeps[] = { 50, 500, 7, 7, 100 };
    static const int kept[] = { 50, 60, 7, 7, 17 };
    use_history(*state, 200);
    player_open(&player);
    take_turns(&player, 300);
    player_close(&player);
    for (int i = 0; i < 5; i++) {
        use_history(*state, keeps[i]);
        player_open(&player);
        assert_int_equal(read_all(&player, &answer), 0);
        assert_int_equal(answer.last, 600 + 10 * i);
        take_turns(&player, 5);
        assert_int_equal(read_all(&player, &answer), 0);
        assert_int_equal(answer.count, keeps[i] < kept[i] ? keeps[i] : kept[i]);
        assert_int_equal(answer.last, 610 + 10 * i);
        player_close(&player);
    }

    /* Off, and on again: the numbers go on. */
    use_history(*state, 0);
    player_open(&player);
    assert_int_equal(read_all(&player, &answer), HF_ENOTFOUND);
    take_turns(&player, 5);
    player_close(&player);
    use_history(*state, 10);
    player_open(&player);
    assert_int_equal(read_all(&player, &answer), 0);
    assert_int_equal(answer.count, 0);
    take_turns(&player, 1);
    assert_int_equal(read_all(&player, &answer), 0);
    assert_int_equal(answer.first, 651);
    player_close(&player);
}

/* Whatever somebody wrote to the table, locks work, and HISTORY answers. */
static void edited_history_does_no_harm(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct answer      answer;

    use_history(temp, 200);
    player_open(&player);
    take_turns(&player, 10);
    temp_sql(temp, "UPDATE past SET what = number * 1000, weight = -number, slot = 'x',"
                   " note = x'ff00ff', time = 'x' WHERE number % 2");
    temp_sql(temp,
             "INSERT INTO past SELECT -1, time, what, line, seq, weight, capacity, claim,"
             " slot, note, reason FROM past WHERE number = 2");
    assert_int_equal(read_all(&player, &answer), 0);
    assert_int_equal(answer.count, 20);
    take_turns(&player, 10);
    assert_int_equal(read_all(&player, &answer), 0);
    assert_int_equal(answer.count, 40);
    player_close(&player);
}

/* A caller that knows later entries than there are knew another file. */
static void position_of_another_file_is_ignored(void **state)
{
    struct temp_store *temp = *state;
    struct player      player;
    struct answer      answer;

    use_history(temp, 100);
    player_open(&player);
    take_turns(&player, 3);
    assert_int_equal(read_after(&player, 4, &answer), 0);
    assert_string_equal(answer.what, "gr");
    assert_int_equal(read_after(&player, 6, &answer), 0);
    assert_string_equal(answer.what, "");
    assert_int_equal(read_after(&player, 7, &answer), 0);
    assert_string_equal(answer.what, "grgrgr");
    player_close(&player);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, temp_setup, temp_teardown)
    const struct CMUnitTest tests[] = {
        TEST(killed_holder_is_recorded_as_lost),
        TEST(next_holder_records_the_loss_first),
        TEST(killed_writers_leave_a_true_history),
        TEST(latest_entries_are_kept),
        TEST(long_notes_do_not_fill_the_file),
        TEST(old_rows_are_removed),
        TEST(history_length_can_be_changed),
        TEST(edited_history_does_no_harm),
        TEST(position_of_another_file_is_ignored),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
