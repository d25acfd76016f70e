/* sqlite_will.c - wills in the file store: which file, which session, and for how long
 * hf_execute() tries. */
#include "lib/lab.h"
#include "lib/testament.h"

#include "holdfast.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int run(const struct testament *will, int64_t timeout_ms, char *error)
{
    error[0] = '\0';
    return hf_execute(will->bytes, will->size, timeout_ms, error, HF_ERRMSG_MAX);
}

/* A process that was stopped at the gate: there is a limit to the waiting for it. */
static void has_a_time_limit(void **state)
{
    struct lab      *lab = *state;
    struct player    a;
    struct ask       ask;
    struct testament will;
    char             error[HF_ERRMSG_MAX];

    player_open(&a);
    uint64_t id = enter(&a, "limit", MUTEX, &ask);
    testament_write(&a, &will);
    int gate = open(lab_file(lab, "-live"), O_RDWR | O_CLOEXEC);
    assert_true(gate >= 0);
    assert_int_equal(flock(gate, LOCK_EX), 0);
    hf_time start = hf_now();
    assert_int_equal(run(&will, 200, error), HF_ETIMEOUT);
    assert_true(hf_now() - start >= 200 * HF_MS);
    assert_non_null(strstr(error, "is not answering"));
    flock(gate, LOCK_UN);
    assert_int_equal(look(&a, "limit", id, &ask), 0);
    assert_true(is_granted(&ask)); /* it has come to nothing */
    testament_execute(&will);
    assert_true(lab_loses(&a, 20000));
    close(gate);
    player_close(&a);
}

static void *lift_limit(void *before)
{
    poll(NULL, 0, 50);
    setrlimit(RLIMIT_FSIZE, before);
    return NULL;
}

/* There is no room for a moment: that is no reason to give up before the time is over. */
static void what_may_go_away_is_waited_for(void **state)
{
    struct player    a;
    struct ask       ask;
    struct testament will;
    struct rlimit    before;
    pthread_t        thread;
    char             error[3][HF_ERRMSG_MAX];

    (void)state;
    player_open(&a);
    enter(&a, "full", MUTEX, &ask);
    testament_write(&a, &will);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, before.rlim_max });
    int     once = run(&will, 0, error[0]);
    hf_time start = hf_now();
    int     limited = run(&will, 100, error[1]);
    hf_time took = hf_now() - start;
    bool    lifts = pthread_create(&thread, NULL, lift_limit, &before) == 0;
    int     patient = run(&will, 20000, error[2]);
    if (lifts)
        pthread_join(thread, NULL);
    setrlimit(RLIMIT_FSIZE, &before); /* what is printed may go to a file */
    assert_int_equal(once, HF_EFULL);
    assert_int_equal(limited, HF_EFULL);
    assert_string_equal(error[0], error[1]);
    assert_true(took >= 100 * HF_MS);
    assert_true(lifts);
    assert_int_equal(patient, 0);
    assert_true(lab_loses(&a, 20000));
    player_close(&a);
}

/* From there the same URL leads to another file, and "it is dead" would be a lie. */
static void names_its_file_not_a_path(void **state)
{
    struct lab      *lab = *state;
    struct player    a, b;
    struct ask       ask, other;
    struct testament will;
    char             error[HF_ERRMSG_MAX], elsewhere[128];

    promise_use("sqlite:relative.db");
    assert_int_equal(chdir(lab->folder), 0);
    player_open(&a);
    uint64_t id = enter(&a, "file", MUTEX, &ask);
    testament_write(&a, &will);

    snprintf(elsewhere, sizeof elsewhere, "%s/else", lab->top);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(chdir(elsewhere), 0);
    assert_int_equal(run(&will, 5000, error), HF_ENOTFOUND);
    assert_non_null(strstr(error, "working directory"));
    assert_int_equal(lab_count(elsewhere), 0); /* nothing is made */
    player_open(&b);
    uint64_t next = enter(&b, "file", MUTEX, &other);
    assert_int_equal(run(&will, 5000, error), HF_ENOTFOUND);
    assert_int_equal(leave(&b, "file", next), 0);
    player_close(&b);

    assert_int_equal(chdir(lab->folder), 0);
    assert_int_equal(look(&a, "file", id, &ask), 0);
    assert_true(is_granted(&ask));
    testament_execute(&will);
    assert_true(lab_loses(&a, 20000));
    assert_int_equal(chdir("/"), 0);
    player_close(&a);
}

/* It has not heard of its end yet when it asks for another place. */
static int enter_at_once(struct player *player, const char *name)
{
    struct ask ask = { .req = { .op = HF_ENTER,
                                .name = name,
                                .id = ++player->ids,
                                .shape = MUTEX,
                                .note = "" } };

    player_submit(player, &ask);
    player->store->impl->process(player->store, hf_now(), false);
    assert_int_equal(ask.answers, 1);
    return ask.req.status;
}

static void no_ticket_comes_after_the_end(void **state)
{
    struct player    a, b;
    struct ask       ask;
    struct testament will;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "after", MUTEX, &ask);
    testament_write(&a, &will);
    testament_execute(&will);
    assert_int_equal(enter_at_once(&a, "after"), HF_EDOWN);
    assert_int_equal(a.lost, 1);
    assert_int_equal(length(&b, "after"), 0);
    player_close(&a);
    player_close(&b);
}

/* ---- Told, or not told ---------------------------------------------------------------- */

/* The only FIFO there is: the one by which `a` is told. */
static void find_fifo(const struct lab *lab, char *ret, size_t size)
{
    const char    *folder = lab_file(lab, "-wake");
    DIR           *dir = opendir(folder);
    struct dirent *entry;

    assert_non_null(dir);
    ret[0] = '\0';
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            snprintf(ret, size, "%s/%s", folder, entry->d_name);
    closedir(dir);
    assert_true(ret[0] != '\0');
}

static void fill_fifo(const char *path)
{
    uint64_t about = 1; /* no ticket's */
    int      fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

    assert_true(fd >= 0);
    while (write(fd, &about, sizeof about) == sizeof about)
        continue;
    assert_int_equal(errno, EAGAIN);
    close(fd);
}

static void remove_fifo(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

/* A session that cannot be told of its end has ended all the same: what it enters next is
 * another's, to which the old will does nothing. */
static void ends_untold(const struct lab *lab, void (*spoil)(const char *path),
                        bool              enters)
{
    struct player    a;
    struct ask       ask;
    struct testament will;
    char             path[PATH_MAX];

    player_open(&a);
    enter(&a, "untold", MUTEX, &ask);
    testament_write(&a, &will);
    find_fifo(lab, path, sizeof path);
    spoil(path);
    testament_execute(&will);
    if (enters)
        assert_int_equal(enter_at_once(&a, "untold"), HF_EDOWN);
    else
        assert_true(lab_loses(&a, 20000));
    assert_int_equal(a.lost, 1);
    uint64_t id = enter(&a, "untold", MUTEX, &ask);
    testament_execute(&will);
    assert_int_equal(look(&a, "untold", id, &ask), 0);
    assert_true(is_granted(&ask));
    assert_int_equal(a.lost, 1);
    player_close(&a);
}

static void one_that_was_told_too_much(void **state)
{
    ends_untold(*state, fill_fifo, true);
    ends_untold(*state, fill_fifo, false);
}

static void one_whose_fifo_was_deleted(void **state)
{
    ends_untold(*state, remove_fifo, true);
    ends_untold(*state, remove_fifo, false);
}

static void trace_nothing(const char *text, void *data)
{
    (void)text;
    (void)data;
}

/* A session cannot begin where a folder stands in the file's place.  What is in the way is
 * told, also through a trace. */
static void what_keeps_a_session_from_beginning(void **state)
{
    struct lab       *lab = *state;
    struct hf_options options = HF_OPTIONS_INIT;
    int               fds[2];

    for (int i = 0; i < 4; i++) {
        struct hf_client *client;
        options.on_trace = i < 2 ? NULL : trace_nothing;
        assert_int_equal(hf_open(lab->url, &options, &client), 0);
        assert_int_equal(mkdir(lab->path, 0700), 0);
        int r = i % 2 == 0 ? hf_will(client, NULL, 0) : hf_lifeline(client, fds, 2);
        assert_int_equal(r, HF_EDENIED);
        assert_ptr_equal(strstr(hf_errmsg(client), lab->path), hf_errmsg(client));
        hf_close(client);
        assert_int_equal(rmdir(lab->path), 0);
    }
}

/* Who has a will has to hear that it is out of date, even if nothing was held. */
static void a_new_session_is_told_of(void **state)
{
    struct lab      *lab = *state;
    struct player    a;
    struct ask       ask;
    struct testament old, new;
    char             error[HF_ERRMSG_MAX];

    player_open(&a);
    testament_write(&a, &old);
    lab_unlink(lab, "");
    lab_unlink(lab, "-wal");
    lab_unlink(lab, "-shm");
    lab_unlink(lab, "-live");
    uint64_t id = enter(&a, "told", MUTEX, &ask);
    assert_int_equal(a.lost, 1);
    testament_write(&a, &new);
    int r = run(&old, 5000, error);
    assert_true(r == HF_ENOTFOUND || r == 0); /* the inode may be the same again */
    assert_int_equal(look(&a, "told", id, &ask), 0);
    assert_true(is_granted(&ask));
    testament_execute(&new);
    assert_true(lab_loses(&a, 20000));
    player_close(&a);
}

/* All of them, in one step, and the rest of each line moves up. */
static void many_places_go_at_once(void **state)
{
    struct player    a, b;
    struct ask       ask;
    struct testament will;
    char             name[32];

    (void)state;
    player_open(&a);
    player_open(&b);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "many%d", i / 2);
        enter(&a, name, MUTEX, &ask);
        enter(&b, name, MUTEX, &ask);
    }
    testament_write(&a, &will);
    testament_execute(&will);
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "many%d", i);
        assert_int_equal(length(&b, name), 2);
        assert_int_equal(look(&b, name, (uint64_t)(2 * i + 1), &ask), 0);
        assert_true(is_granted(&ask));
    }
    assert_int_equal(b.lost, 0);
    assert_true(lab_loses(&a, 20000));
    player_close(&a);
    player_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(has_a_time_limit, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(what_may_go_away_is_waited_for, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(names_its_file_not_a_path, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(no_ticket_comes_after_the_end, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(one_that_was_told_too_much, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(one_whose_fifo_was_deleted, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(what_keeps_a_session_from_beginning, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(a_new_session_is_told_of, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(many_places_go_at_once, lab_setup, lab_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
