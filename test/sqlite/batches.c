/* batches.c - requests of the file store share one transaction: none is answered
 * before the commit, and one that fails harms no other. */
/* one thread */
#include "lib/temp_store.h"

#include "holdfast.h"
#include "store/sqlite/inner.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MANY 20

struct table {
    struct player  player;
    struct request request[MANY];
    char           name[MANY][8];
    int            commits; /* seen by on_commit() */
    int            refuse;  /* how many of them are rolled back */
    size_t         early;   /* answers that came before a commit */
};

static sqlite3 *handle_of(struct player *player)
{
    return ((struct hf_sq *)player->store)->db.handle;
}

static size_t count_answers(const struct table *table)
{
    size_t count = 0;

    for (size_t i = 0; i < MANY; i++)
        count += table->request[i].answers;
    return count;
}

static int on_commit(void *data)
{
    struct table *table = data;

    if (table->commits++ == 0)
        table->early = count_answers(table);
    return table->refuse > 0 && table->refuse-- > 0;
}

/* Start a session first: its transactions do not count here. */
static void set_up(struct table *table)
{
    struct request first;

    *table = (struct table){ .commits = 0 };
    player_open(&table->player);
    enter(&table->player, "first", MUTEX, &first);
    sqlite3_commit_hook(handle_of(&table->player), on_commit, table);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(table->name[i], sizeof table->name[i], "%zu", i);
        table->request[i].req = (struct hf_req){ .op = HF_ENTER,
                                                 .name = table->name[i],
                                                 .id = ++table->player.ids,
                                                 .shape = MUTEX,
                                                 .note = "a note" };
    }
}

/* Submit all at once; each is answered exactly once. */
static void submit_all(struct table *table)
{
    table->commits = 0;
    for (size_t i = 0; i < MANY; i++)
        player_submit(&table->player, &table->request[i]);
    for (size_t i = 0; i < MANY; i++)
        assert_true(player_await(&table->player, &table->request[i], 10000));
    assert_int_equal(count_answers(table), MANY);
}

/* All but `but` are granted. */
static void must_hold(struct table *table, size_t but)
{
    for (size_t i = 0; i < MANY; i++) {
        if (i == but)
            continue;
        assert_int_equal(table->request[i].req.status, 0);
        assert_true(is_granted(&table->request[i]));
        assert_int_equal(length(&table->player, table->name[i]), 1);
    }
}

static void leave_all(struct table *table)
{
    for (size_t i = 0; i < MANY; i++)
        table->request[i].req.op = HF_LEAVE;
    submit_all(table);
}

static void waiting_requests_share_one_transaction(void **state)
{
    struct table table;

    (void)state;
    set_up(&table);
    submit_all(&table);
    assert_int_equal(table.commits, 1);
    assert_int_equal(table.early, 0);
    must_hold(&table, MANY);
    for (size_t i = 1; i < MANY; i++) /* in their order */
        assert_true(token_of(&table.request[i]) > token_of(&table.request[i - 1]));
    leave_all(&table);
    assert_int_equal(table.commits, 1);
    assert_int_equal(table.early, 0);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(table.request[i].req.status, 0);
        assert_int_equal(length(&table.player, table.name[i]), 0);
    }
    player_close(&table.player);
}

/* Their liveness locks are adjacent bytes, so one lock to the kernel.  Others see each
 * released by itself. */
static void liveness_locks_are_released_one_by_one(void **state)
{
    struct table   table;
    struct player  other;
    struct request seen;
    uint64_t       seq[MANY];

    (void)state;
    set_up(&table);
    player_open(&other);
    submit_all(&table);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(list(&other, table.name[i], &seen), 0);
        assert_int_equal(seen.count, 1);
        seq[i] = seen.seen[0].seq;
        assert_int_equal(seq[i], seq[0] + i);
    }
    const struct hf_sq_live *live = &((struct hf_sq *)other.store)->live;
    for (size_t i = 0; i < MANY; i += 2)
        assert_int_equal(leave(&table.player, table.name[i], table.request[i].req.id), 0);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(hf_sq_live_is_locked(live, seq[i]), i % 2);
    player_close(&other);
    player_close(&table.player);
}

static void refused_request_harms_no_other(void **state)
{
    struct table   table;
    struct player  other;
    struct request held;

    (void)state;
    set_up(&table);
    player_open(&other);
    enter(&other, "7", READER, &held);
    submit_all(&table);
    assert_int_equal(table.request[7].req.status, HF_EMISMATCH);
    assert_non_null(strstr(table.player.store->errmsg, "\"7\" is in use"));
    assert_int_equal(table.commits, 2); /* before it, and after it */
    must_hold(&table, 7);
    player_close(&other);
    player_close(&table.player);
}

/* Another program has erased the running total: the line is counted, and nothing is
 * written. */
static void refusal_in_a_line_without_a_total_harms_no_other(void **state)
{
    struct temp_store *temp = *state;
    struct table       table;
    struct player      other;
    struct request     held;

    set_up(&table);
    player_open(&other);
    enter(&other, "7", READER, &held);
    temp_sql(temp, "UPDATE place SET places = 0, waits = 0, total = 0 WHERE line = '7'");
    submit_all(&table);
    assert_int_equal(table.request[7].req.status, HF_EMISMATCH);
    assert_int_equal(table.commits, 2);
    must_hold(&table, 7);
    player_close(&other);
    player_close(&table.player);
}

/* A dead row is swept for it, and then its own row cannot be written. */
static void request_that_fails_half_way_harms_no_other(void **state)
{
    struct temp_store *temp = *state;
    struct table       table;
    static char        long_note[3000];

    set_up(&table);
    temp_sql(temp,
             "INSERT INTO place VALUES ('7', 5, 5, 1, 1, 0, 1, 1, -1, '', 0, 0, 0)");
    memset(long_note, 'x', sizeof long_note - 1);
    table.request[7].req.note = long_note;
    sqlite3_limit(handle_of(&table.player), SQLITE_LIMIT_LENGTH, 2000);
    submit_all(&table);
    assert_int_equal(table.request[7].req.status, HF_ESTORE);
    assert_int_equal(table.commits, MANY - 1); /* each by itself */
    must_hold(&table, 7);
    assert_int_equal(length(&table.player, "7"), 0);
    player_close(&table.player);
}

static void failed_commit_is_repeated_one_by_one(void **state)
{
    struct table table;

    (void)state;
    set_up(&table);
    table.refuse = 1;
    submit_all(&table);
    assert_int_equal(table.commits, 1 + MANY);
    assert_int_equal(table.early, 0);
    must_hold(&table, MANY);
    table.refuse = 1;
    leave_all(&table);
    for (size_t i = 0; i < MANY; i++) { /* released, whatever is written */
        assert_int_equal(table.request[i].req.status, 0);
        assert_int_equal(length(&table.player, table.name[i]), 0);
    }
    player_close(&table.player);
}

static void broken_place_is_lost_and_the_others_are_not(void **state)
{
    struct table table;

    (void)state;
    set_up(&table);
    submit_all(&table);
    assert_int_equal(take_away(&table.player, "7", place_of(&table.request[7])), 0);
    leave_all(&table);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(table.request[i].req.status, i == 7 ? HF_ELOST : 0);
    player_close(&table.player);
}

/* A LEAVE grants a place of the same transaction. */
static void place_granted_in_the_same_batch_is_woken(void **state)
{
    struct table   table;
    struct request held;

    (void)state;
    set_up(&table);
    uint64_t id = enter(&table.player, "0", MUTEX, &held);
    table.request[1].req.op = HF_LEAVE;
    table.request[1].req.name = "0";
    table.request[1].req.id = id;
    submit_all(&table);
    assert_int_equal(table.commits, 1);
    assert_int_equal(table.request[1].req.status, 0);
    assert_false(is_granted(&table.request[0]));
    assert_true(wait_for_turn(&table.player, "0", &table.request[0], 10000));
    player_close(&table.player);
}

static void repeats_in_a_batch_are_recognized(void **state)
{
    struct table table;

    (void)state;
    set_up(&table);
    table.request[3].req = table.request[2].req; /* a repeat */
    table.request[5].req = table.request[4].req;
    table.request[5].req.op = HF_LEAVE;
    submit_all(&table);
    assert_true(is_granted(&table.request[3]));
    assert_int_equal(token_of(&table.request[3]), token_of(&table.request[2]));
    assert_int_equal(table.request[5].req.status, 0);
    assert_int_equal(length(&table.player, "4"), 0);
    player_close(&table.player);
}

/* ---- Killed in the middle ---------------------------------------------------- */

static int die(void *data)
{
    (void)data;
    raise(SIGKILL);
    return 0;
}

static void die_entering(struct child *parent)
{
    struct table table;

    (void)parent;
    set_up(&table);
    sqlite3_commit_hook(handle_of(&table.player), die, NULL);
    submit_all(&table);
}

static void die_leaving(struct child *parent)
{
    struct table table;

    (void)parent;
    set_up(&table);
    submit_all(&table);
    sqlite3_commit_hook(handle_of(&table.player), die, NULL);
    leave_all(&table);
}

static void batch_killed_before_its_commit_has_no_effect(void **state)
{
    struct temp_store *temp = *state;
    struct child       child;
    struct table       table;

    for (int leaving = 0; leaving < 2; leaving++) {
        child_start(&child, leaving ? die_leaving : die_entering);
        assert_int_equal(child_status(&child), -1);
        int64_t rows = temp_sql(temp, "SELECT count(*) FROM place WHERE line <> 'first'");
        assert_int_equal(rows, leaving ? MANY : 0);
        set_up(&table);
        submit_all(&table);
        must_hold(&table, MANY);
        player_close(&table.player);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(waiting_requests_share_one_transaction,
                                        temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(liveness_locks_are_released_one_by_one,
                                        temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(refused_request_harms_no_other, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(refusal_in_a_line_without_a_total_harms_no_other,
                                        temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(request_that_fails_half_way_harms_no_other,
                                        temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(failed_commit_is_repeated_one_by_one, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(broken_place_is_lost_and_the_others_are_not,
                                        temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(place_granted_in_the_same_batch_is_woken,
                                        temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(repeats_in_a_batch_are_recognized, temp_setup,
                                        temp_teardown),
        cmocka_unit_test_setup_teardown(batch_killed_before_its_commit_has_no_effect,
                                        temp_setup, temp_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
