/* session_key.c - session keys of the file store: which file, which session, and for
 * how long hf_end_session() retries. */
#include "lib/session_keys.h"
#include "lib/temp_store.h"
#include "sqlite/lib/store_files.h"

#include "holdfast.h"

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

static int run(const struct session_key *key, int64_t timeout_ms, char *error)
{
    error[0] = '\0';
    return hf_end_session(key->bytes, key->size, timeout_ms, error, HF_ERRMSG_MAX);
}

/* A stopped process has the write lock: hf_end_session() waits no longer than its
 * limit. */
static void ending_a_session_has_a_time_limit(void **state)
{
    struct temp_store *temp = *state;
    struct player      a;
    struct request     request;
    struct session_key key;
    char               error[HF_ERRMSG_MAX];

    player_open(&a);
    uint64_t id = enter(&a, "limit", MUTEX, &request);
    session_key_write(&a, &key);
    int     fd = take_write_lock(temp);
    hf_time start = hf_now();
    assert_int_equal(run(&key, 200, error), HF_ETIMEOUT);
    assert_true(hf_now() - start >= 200 * HF_MS);
    assert_non_null(strstr(error, "is not answering"));
    flock(fd, LOCK_UN);
    assert_int_equal(look(&a, "limit", id, &request), 0);
    assert_true(is_granted(&request)); /* the session has not ended */
    session_key_end(&key);
    assert_true(player_loses_session(&a, 20000));
    close(fd);
    player_close(&a);
}

static void *lift_limit(void *before)
{
    poll(NULL, 0, 50);
    setrlimit(RLIMIT_FSIZE, before);
    return NULL;
}

/* There is no room for a moment: it is retried until the time is over. */
static void ending_is_retried_until_there_is_room(void **state)
{
    struct player      a;
    struct request     request;
    struct session_key key;
    struct rlimit      before;
    pthread_t          thread;
    char               error[3][HF_ERRMSG_MAX];

    (void)state;
    player_open(&a);
    enter(&a, "full", MUTEX, &request);
    session_key_write(&a, &key);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0, before.rlim_max });
    int     once = run(&key, 0, error[0]);
    hf_time start = hf_now();
    int     limited = run(&key, 100, error[1]);
    hf_time took = hf_now() - start;
    bool    lifts = pthread_create(&thread, NULL, lift_limit, &before) == 0;
    int     patient = run(&key, 20000, error[2]);
    if (lifts)
        pthread_join(thread, NULL);
    setrlimit(RLIMIT_FSIZE, &before); /* our output may go to a file */
    assert_int_equal(once, HF_EFULL);
    assert_int_equal(limited, HF_EFULL);
    assert_string_equal(error[0], error[1]);
    assert_true(took >= 100 * HF_MS);
    assert_true(lifts);
    assert_int_equal(patient, 0);
    assert_true(player_loses_session(&a, 20000));
    player_close(&a);
}

/* From another directory the same URL leads to another file: "no such session" would
 * be wrong. */
static void key_names_a_file_and_not_a_path(void **state)
{
    struct temp_store *temp = *state;
    struct player      a, b;
    struct request     request, other;
    struct session_key key;
    char               error[HF_ERRMSG_MAX], elsewhere[128];

    promise_use("sqlite:relative.db");
    assert_int_equal(chdir(temp->folder), 0);
    player_open(&a);
    uint64_t id = enter(&a, "file", MUTEX, &request);
    session_key_write(&a, &key);

    snprintf(elsewhere, sizeof elsewhere, "%s/else", temp->top);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(chdir(elsewhere), 0);
    assert_int_equal(run(&key, 5000, error), HF_ENOTFOUND);
    assert_non_null(strstr(error, "working directory"));
    assert_int_equal(count_files(elsewhere), 0); /* no file is made */
    player_open(&b);
    uint64_t next = enter(&b, "file", MUTEX, &other);
    assert_int_equal(run(&key, 5000, error), HF_ENOTFOUND);
    assert_int_equal(leave(&b, "file", next), 0);
    player_close(&b);

    assert_int_equal(chdir(temp->folder), 0);
    assert_int_equal(look(&a, "file", id, &request), 0);
    assert_true(is_granted(&request));
    session_key_end(&key);
    assert_true(player_loses_session(&a, 20000));
    assert_int_equal(chdir("/"), 0);
    player_close(&a);
}

/* It does not know yet that its session was ended when it asks for another place. */
static int enter_at_once(struct player *player, const char *name)
{
    struct request request = { .req = { .op = HF_ENTER,
                                        .name = name,
                                        .id = ++player->ids,
                                        .shape = MUTEX,
                                        .note = "" } };

    player_submit(player, &request);
    player->store->impl->process(player->store, hf_now(), false);
    assert_int_equal(request.answers, 1);
    return request.req.status;
}

static void ended_session_gets_no_more_places(void **state)
{
    struct player      a, b;
    struct request     request;
    struct session_key key;

    (void)state;
    player_open(&a);
    player_open(&b);
    enter(&a, "after", MUTEX, &request);
    session_key_write(&a, &key);
    session_key_end(&key);
    assert_int_equal(enter_at_once(&a, "after"), HF_EDOWN);
    assert_int_equal(a.lost, 1);
    assert_int_equal(length(&b, "after"), 0);
    player_close(&a);
    player_close(&b);
}

/* ---- Without a wake-up ------------------------------------------------------- */

static void fill_fifo(const char *path)
{
    uint64_t seq = 1; /* of no place */
    int      fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

    assert_true(fd >= 0);
    while (write(fd, &seq, sizeof seq) == sizeof seq)
        continue;
    assert_int_equal(errno, EAGAIN);
    close(fd);
}

static void remove_fifo(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

/* A session that cannot be woken has ended all the same: its next place belongs to a
 * new session, which the old key cannot end. */
static void check_ended_without_wakeup(const struct temp_store *temp,
                                       void (*spoil)(const char *path), bool enters)
{
    struct player      a;
    struct request     request;
    struct session_key key;
    char               name[32], path[PATH_MAX];

    player_open(&a);
    enter(&a, "x", MUTEX, &request);
    session_key_write(&a, &key);
    find_fifo(temp, name);
    snprintf(path, sizeof path, "%s/%s", temp_file(temp, "-wake"), name);
    spoil(path);
    session_key_end(&key);
    if (enters)
        assert_int_equal(enter_at_once(&a, "x"), HF_EDOWN);
    else
        assert_true(player_loses_session(&a, 20000));
    assert_int_equal(a.lost, 1);
    uint64_t id = enter(&a, "x", MUTEX, &request);
    session_key_end(&key);
    assert_int_equal(look(&a, "x", id, &request), 0);
    assert_true(is_granted(&request));
    assert_int_equal(a.lost, 1);
    player_close(&a);
}

static void session_with_a_full_fifo_is_ended(void **state)
{
    check_ended_without_wakeup(*state, fill_fifo, true);
    check_ended_without_wakeup(*state, fill_fifo, false);
}

static void session_with_a_deleted_fifo_is_ended(void **state)
{
    check_ended_without_wakeup(*state, remove_fifo, true);
    check_ended_without_wakeup(*state, remove_fifo, false);
}

static void trace_nothing(const char *text, void *data)
{
    (void)text;
    (void)data;
}

/* A session cannot start if a folder has the name of the file.  The message says so,
 * also through a trace. */
static void failed_session_start_is_explained(void **state)
{
    struct temp_store *temp = *state;
    struct hf_options  options = HF_OPTIONS_INIT;
    int                fds[2];

    for (int i = 0; i < 4; i++) {
        struct hf_client *client;
        options.on_trace = i < 2 ? NULL : trace_nothing;
        assert_int_equal(hf_open(temp->url, &options, &client), 0);
        assert_int_equal(mkdir(temp->path, 0700), 0);
        int r =
            i % 2 == 0 ? hf_session_key(client, NULL, 0) : hf_lifeline(client, fds, 2);
        assert_int_equal(r, HF_EDENIED);
        assert_ptr_equal(strstr(hf_errmsg(client), temp->path), hf_errmsg(client));
        hf_close(client);
        assert_int_equal(rmdir(temp->path), 0);
    }
}

/* An owner that handed out its session key must learn that the key is out of date,
 * even if it held nothing. */
static void new_session_is_reported_as_lost_link(void **state)
{
    struct temp_store *temp = *state;
    struct player      a;
    struct request     request;
    struct session_key old, new;
    char               error[HF_ERRMSG_MAX];

    player_open(&a);
    session_key_write(&a, &old);
    temp_unlink(temp, "");
    temp_unlink(temp, "-wal");
    temp_unlink(temp, "-shm");
    temp_unlink(temp, "-live");
    uint64_t id = enter(&a, "x", MUTEX, &request);
    assert_int_equal(a.lost, 1);
    session_key_write(&a, &new);
    int r = run(&old, 5000, error);
    assert_true(r == HF_ENOTFOUND || r == 0); /* the new file may have the old inode */
    assert_int_equal(look(&a, "x", id, &request), 0);
    assert_true(is_granted(&request));
    session_key_end(&new);
    assert_true(player_loses_session(&a, 20000));
    player_close(&a);
}

/* All of them in one step, and the waiters behind them are granted. */
static void all_places_of_a_session_end_in_one_step(void **state)
{
    struct player      a, b;
    struct request     request;
    struct session_key key;
    char               name[32];

    (void)state;
    player_open(&a);
    player_open(&b);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "many%d", i / 2);
        enter(&a, name, MUTEX, &request);
        enter(&b, name, MUTEX, &request);
    }
    session_key_write(&a, &key);
    session_key_end(&key);
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "many%d", i);
        assert_int_equal(length(&b, name), 2);
        assert_int_equal(look(&b, name, (uint64_t)(2 * i + 1), &request), 0);
        assert_true(is_granted(&request));
    }
    assert_int_equal(b.lost, 0);
    assert_true(player_loses_session(&a, 20000));
    player_close(&a);
    player_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ending_a_session_has_a_time_limit, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(ending_is_retried_until_there_is_room, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(key_names_a_file_and_not_a_path, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(ended_session_gets_no_more_places, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(session_with_a_full_fifo_is_ended, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(session_with_a_deleted_fifo_is_ended, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(failed_session_start_is_explained, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(new_session_is_reported_as_lost_link, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(all_places_of_a_session_end_in_one_step,
                                        temp_setup, temp_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
