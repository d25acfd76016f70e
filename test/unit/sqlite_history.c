/* sqlite_history.c - HISTORY on the file store: the dead, the ring and what may be in it. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT  10000 /* ms */
#define RECORD 512   /* bytes for each, on the average */

struct recall {
    struct hf_req req;
    unsigned      answers;
    int           status;
    size_t        count;
    uint64_t      first, last; /* numbers */
    char          what[1100];  /* letters, of the last thousand */
    size_t        longest;     /* note */
    size_t        gaps;        /* between numbers */
};

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
        if (i < 1000)
            recall->what[i] = req->past[i].what;
        if (length > recall->longest)
            recall->longest = length;
    }
}

static int recall_all(struct player *player, struct recall *recall)
{
    hf_time end = hf_now() + LIMIT * HF_MS;

    *recall = (struct recall){ .req = { .op = HF_HISTORY, .done = on_done } };
    recall->req.data = recall;
    player->store->impl->submit(player->store, &recall->req);
    while (recall->answers == 0 && hf_now() < end)
        player_turn(player, 1);
    assert_int_equal(recall->answers, 1);
    return recall->status;
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

/* The ring is gone round several times, and read by others than wrote it. */
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

/* Records that are longer than was thought: there are fewer. */
static void long_notes(void **state)
{
    struct player player;
    struct recall recall;
    char          note[4000];

    use_history(*state, 200);
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
    assert_in_range(recall.count, 20, 200);
    assert_int_equal(recall.last, 200);
    assert_int_equal(recall.longest, sizeof note - 1);
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

/* Whatever stands there, locks work, and what is whole before it is told. */
static void nonsense_in_the_file(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct recall recall;
    struct stat   st;
    unsigned      seed = 1;

    use_history(lab, 200);
    player_open(&player);
    take_turns(&player, 200);
    int fd = open(lab_file(lab, "-live"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 200 * RECORD);
    for (int i = 0; i < 2000; i++) {
        char  byte = (char)rand_r(&seed);
        off_t at = 64 + (off_t)((unsigned)rand_r(&seed) % (unsigned)(st.st_size - 64));
        if (i % 4 == 0)
            at = 64 + at % 64; /* in the head, behind what all versions know */
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        if (i % 20 != 0)
            continue;
        (void)recall_all(&player, &recall);
        take_turns(&player, 1);
    }
    close(fd);
    player_close(&player);
}

/* Programs of an older version write a shorter head. */
static void a_shorter_head(void **state)
{
    struct lab   *lab = *state;
    struct player player;
    struct recall recall;
    struct ask    ask;

    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &ask);
    assert_int_equal(truncate(lab_file(lab, "-live"), 64), 0);
    assert_int_equal(look(&player, "x", id, &ask), 0);
    assert_true(is_granted(&ask));
    assert_int_equal(recall_all(&player, &recall), HF_ENOTFOUND);
    assert_int_equal(leave(&player, "x", id), 0);
    assert_int_equal(player.lost, 0);
    player_close(&player);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_killed_holder_is_lost), TEST(who_follows_a_killed_one),
        TEST(the_last_ones_are_kept),  TEST(long_notes),
        TEST(another_length),          TEST(nonsense_in_the_file),
        TEST(a_shorter_head),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
