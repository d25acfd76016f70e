/* sqlite_survey.c - SURVEY on the file store: deaths, lost words, and its end. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIMIT 10000 /* ms */

/* A SURVEY, and a copy of its answer. */
struct survey {
    struct hf_req req;
    unsigned      answers;
    int           status;
    size_t        changes;
    char          name[8][64];
};

static void on_done(struct hf_req *req)
{
    struct survey *survey = req->data;

    survey->answers++;
    survey->status = req->status;
    survey->changes = req->changes;
    for (size_t i = 0; i < req->changes && i < 8; i++)
        snprintf(survey->name[i], sizeof survey->name[i], "%s", req->changed[i]);
}

static void submit_survey(struct player *player, struct survey *survey)
{
    *survey = (struct survey){ .req = { .op = HF_SURVEY, .done = on_done } };
    survey->req.data = survey;
    player->store->impl->submit(player->store, &survey->req);
    player_turn(player, 0);
}

static bool await_survey(struct player *player, const struct survey *survey, int ms)
{
    hf_time end = hf_now() + ms * HF_MS;

    while (survey->answers == 0 && hf_now() < end)
        player_turn(player, hf_poll_ms(hf_now(), end));
    return survey->answers == 1;
}

/* Begin, see all, and wait for what comes. */
static void start_survey(struct player *player, struct survey *survey)
{
    struct ask all;

    uint64_t id = enter(player, "first", MUTEX, &all); /* so that there is a store */
    assert_int_equal(leave(player, "first", id), 0);
    submit_survey(player, survey);
    assert_true(await_survey(player, survey, LIMIT));
    assert_int_equal(survey->status, 0);
    assert_int_equal(survey->changes, 0);
    assert_int_equal(list(player, NULL, &all), 0);
    submit_survey(player, survey);
    assert_int_equal(survey->answers, 0);
}

static void expect_change(struct player *player, const struct survey *survey,
                          const char *name)
{
    assert_true(await_survey(player, survey, LIMIT));
    assert_int_equal(survey->status, 0);
    assert_int_equal(survey->changes, 1);
    assert_string_equal(survey->name[0], name);
}

static void names_what_changed_and_nothing_else(void **state)
{
    struct player eye, player;
    struct survey survey;
    struct ask    ask;

    (void)state;
    player_open(&eye);
    player_open(&player);
    enter(&player, "known", MUTEX, &ask);
    uint64_t other = enter(&player, "quiet", MUTEX, &ask);
    start_survey(&eye, &survey);
    assert_int_equal(list(&player, "quiet", &ask), 0);
    assert_true(ask.seen[0].left == INT64_MAX);

    uint64_t id = enter(&player, "new", MUTEX, &ask);
    expect_change(&eye, &survey, "new");
    submit_survey(&eye, &survey);
    assert_int_equal(leave(&player, "new", id), 0);
    expect_change(&eye, &survey, "new"); /* though it is gone */
    submit_survey(&eye, &survey);

    /* Between two of them nothing is missed, whatever came and went. */
    id = enter(&player, "new", MUTEX, &ask);
    expect_change(&eye, &survey, "new");
    assert_int_equal(leave(&player, "new", id), 0);
    id = enter(&player, "moment", MUTEX, &ask);
    assert_int_equal(leave(&player, "moment", id), 0);
    submit_survey(&eye, &survey);
    assert_true(await_survey(&eye, &survey, LIMIT));
    assert_int_equal(survey.changes, 2);
    assert_string_equal(survey.name[0], "moment");
    assert_string_equal(survey.name[1], "new");
    submit_survey(&eye, &survey);
    assert_int_equal(leave(&player, "quiet", other), 0);
    expect_change(&eye, &survey, "quiet");
    player_close(&player);
    player_close(&eye);
}

static void hold_alone(struct child *parent)
{
    struct player player;
    struct ask    ask;

    child_take(parent, &player, READER, &ask);
    child_hear(parent, -1);
}

/* Nobody waits for it, so nobody else would notice. */
static void a_death_is_noticed_at_once(void **state)
{
    struct player eye;
    struct survey survey;
    struct child  child;
    struct ask    all;

    (void)state;
    player_open(&eye);
    start_survey(&eye, &survey);
    child_start(&child, hold_alone); /* it came after the survey */
    assert_true(child_hear(&child, LIMIT));
    expect_change(&eye, &survey, "x");
    submit_survey(&eye, &survey);
    child_kill(&child);
    hf_time killed = hf_now();
    expect_change(&eye, &survey, "x");
    assert_true(hf_now() - killed <
                900 * HF_MS); /* less than until somebody would look */
    assert_int_equal(list(&eye, "x", &all), 0);
    assert_int_equal(all.count, 0);
    player_close(&eye);
}

static void hold_own(struct child *parent)
{
    struct player player;
    struct ask    ask;
    char          name[32];

    snprintf(name, sizeof name, "%d", (int)getpid());
    player_open(&player);
    enter(&player, name, MUTEX, &ask);
    must(is_granted(&ask));
    child_say(parent);
    child_hear(parent, -1);
}

/* There are not enough descriptors to keep an eye on each of them. */
static void the_deaths_of_many(void **state)
{
    enum { MANY = 80 };
    struct player eye;
    struct survey survey;
    struct child  child[MANY];
    struct rlimit old, few;
    size_t        told = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        child_start(&child[i], hold_own);
        assert_true(child_hear(&child[i], LIMIT));
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = old;
    few.rlim_cur = 256; /* a quarter of it is less than there are */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    player_open(&eye);
    start_survey(&eye, &survey);
    for (int i = 0; i < MANY; i++)
        child_kill(&child[i]);
    while (told < MANY) {
        assert_true(await_survey(&eye, &survey, LIMIT));
        assert_true(survey.changes > 0);
        told += survey.changes;
        submit_survey(&eye, &survey);
    }
    assert_int_equal(length(&eye, NULL), 0);
    player_close(&eye);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

/* All may have changed: none of the names is known. */
static void expect_any_change(struct player *player, struct survey *survey)
{
    assert_true(await_survey(player, survey, LIMIT));
    assert_int_equal(survey->status, 0);
    assert_int_equal(survey->changes, 0);
    submit_survey(player, survey);
    assert_int_equal(survey->answers, 0);
}

/* A program that knows nothing of surveys changes a line. */
static void what_nobody_told_is_noticed(void **state)
{
    struct lab   *lab = *state;
    struct player eye;
    struct survey survey;

    player_open(&eye);
    start_survey(&eye, &survey);
    lab_sql(lab,
            "INSERT INTO ticket VALUES ('x', 7, 7, 1, 1, 0, 1, 1, -1, 'old', 0, 0, 0)");
    expect_any_change(&eye, &survey);
    player_close(&eye);
}

static void keep_history(const struct lab *lab, int keep)
{
    char url[200], why[HF_ERRMSG_MAX];

    snprintf(url, sizeof url, "%s?history=%d", lab->url, keep);
    assert_int_equal(lab_try(url, why), 0);
}

static void what_the_history_does_not_tell(void **state)
{
    struct player eye, player;
    struct survey survey;
    struct ask    ask;

    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    keep_history(*state, 10);
    player_open(&eye);
    start_survey(&eye, &survey);
    enter(&player, "y", MUTEX, &ask);
    expect_change(&eye, &survey, "y");
    for (int i = 0; i < 100; i++)
        assert_int_equal(leave(&player, "z", enter(&player, "z", MUTEX, &ask)), 0);
    submit_survey(&eye, &survey);
    expect_any_change(&eye, &survey);

    keep_history(*state, 0);
    expect_any_change(&eye, &survey);
    hf_time start = hf_now();
    enter(&player, "w", MUTEX, &ask);
    expect_any_change(&eye, &survey);
    assert_true(hf_now() - start < 900 * HF_MS);

    enter(&player, "u", MUTEX, &ask); /* not recorded, and what comes next is */
    keep_history(*state, 10);
    enter(&player, "v", MUTEX, &ask);
    expect_any_change(&eye, &survey);
    player_close(&eye);
    player_close(&player);
}

/* A release that cannot be written down, as the gate is shut. */
static void what_is_not_written_is_noticed(void **state)
{
    struct lab   *lab = *state;
    struct player eye, player;
    struct survey survey;
    struct ask    ask;

    player_open(&eye);
    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &ask);
    start_survey(&eye, &survey);
    int gate = open(lab_file(lab, "-live"), O_RDWR | O_CLOEXEC);
    assert_true(gate >= 0 && flock(gate, LOCK_EX) == 0);
    assert_int_equal(leave(&player, "x", id), 0);
    expect_any_change(&eye, &survey);
    assert_int_equal(length(&eye, "x"), 0);
    close(gate);
    player_close(&player);
    player_close(&eye);
}

/* A user has only so many of these. */
static void without_inotify(void **state)
{
    enum { MOST = 4096 };
    static int    fd[MOST];
    struct player eye, player;
    struct survey survey;
    struct ask    ask;
    int           count = 0;

    (void)state;
    player_open(&eye);
    player_open(&player);
    while (count < MOST && (fd[count] = inotify_init1(IN_CLOEXEC)) >= 0)
        count++;
    start_survey(&eye, &survey);
    while (count > 0)
        close(fd[--count]);
    enter(&player, "x", MUTEX, &ask);
    expect_change(&eye, &survey, "x");
    player_close(&player);
    player_close(&eye);
}

static size_t count_open(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void it_writes_nothing_and_ends(void **state)
{
    struct lab   *lab = *state;
    struct player eye, player;
    struct survey survey;
    struct ask    ask;

    player_open(&player);
    enter(&player, "x", MUTEX, &ask);
    player_open(&eye);
    submit_survey(&eye, &survey);
    assert_true(await_survey(&eye, &survey, LIMIT));
    assert_int_equal(lab_count(lab_file(lab, "-wake")), 1); /* the player's */
    size_t before = count_open();
    submit_survey(&eye, &survey);
    eye.store->impl->cancel(eye.store, &survey.req);
    assert_true(await_survey(&eye, &survey, LIMIT));
    assert_int_equal(survey.status, HF_ECANCELED);
    assert_true(count_open() < before);

    submit_survey(&eye, &survey); /* another one begins anew */
    assert_true(await_survey(&eye, &survey, LIMIT));
    assert_int_equal(survey.status, 0);
    assert_int_equal(survey.changes, 0);
    player_close(&eye);
    player_close(&player);
}

/* It looks at all again when the files are others; and makes none by itself. */
static void other_files(void **state)
{
    struct lab   *lab = *state;
    struct player eye, player;
    struct survey survey;
    struct ask    ask;

    player_open(&eye);
    submit_survey(&eye, &survey);
    assert_int_equal(survey.answers, 1);
    submit_survey(&eye, &survey);
    assert_int_equal(survey.answers, 0);
    assert_false(lab_has(lab, ""));
    player_open(&player);
    uint64_t id = enter(&player, "x", MUTEX, &ask);
    assert_true(await_survey(&eye, &survey, LIMIT));
    assert_int_equal(survey.changes, 0);
    assert_int_equal(length(&eye, "x"), 1);
    submit_survey(&eye, &survey);
    assert_int_equal(leave(&player, "x", id), 0);
    player_close(&player);
    assert_true(await_survey(&eye, &survey, LIMIT));
    submit_survey(&eye, &survey);

    lab_unlink(lab, "");
    lab_unlink(lab, "-live");
    assert_true(await_survey(&eye, &survey, LIMIT));
    assert_int_equal(survey.status, 0);
    assert_int_equal(survey.changes, 0);
    player_close(&eye);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(names_what_changed_and_nothing_else),
        TEST(a_death_is_noticed_at_once),
        TEST(the_deaths_of_many),
        TEST(what_nobody_told_is_noticed),
        TEST(what_the_history_does_not_tell),
        TEST(what_is_not_written_is_noticed),
        TEST(without_inotify),
        TEST(it_writes_nothing_and_ends),
        TEST(other_files),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
