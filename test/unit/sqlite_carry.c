/* sqlite_carry.c - requests of the SQLite store that share a transaction: it is one, nobody is
 * answered before it is committed, and one that fails harms no other. */
/* one thread */
#include "lib/lab.h"

#include "holdfast.h"
#include "store/sqlite/inner.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MANY 20

struct table {
    struct player player;
    struct ask    ask[MANY];
    char          name[MANY][8];
    int           commits; /* seen by on_commit() */
    int           refuse;  /* so many of them are rolled back */
    size_t        early;   /* answers that came before a commit */
};

static sqlite3 *handle_of(struct player *player)
{
    return ((struct hf_sq *)player->store)->db.handle;
}

static size_t count_answers(const struct table *table)
{
    size_t count = 0;

    for (size_t i = 0; i < MANY; i++)
        count += table->ask[i].answers;
    return count;
}

static int on_commit(void *data)
{
    struct table *table = data;

    if (table->commits++ == 0)
        table->early = count_answers(table);
    return table->refuse > 0 && table->refuse-- > 0;
}

/* With a session: what comes first for it is none of what is counted here. */
static void sit_down(struct table *table)
{
    struct ask first;

    *table = (struct table){ .commits = 0 };
    player_open(&table->player);
    enter(&table->player, "first", MUTEX, &first);
    sqlite3_commit_hook(handle_of(&table->player), on_commit, table);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(table->name[i], sizeof table->name[i], "%zu", i);
        table->ask[i].req = (struct hf_req){ .op = HF_ENTER,
                                             .name = table->name[i],
                                             .id = ++table->player.ids,
                                             .shape = MUTEX,
                                             .note = "a note" };
    }
}

/* All at once; each is answered, once. */
static void put_all(struct table *table)
{
    table->commits = 0;
    for (size_t i = 0; i < MANY; i++)
        player_submit(&table->player, &table->ask[i]);
    for (size_t i = 0; i < MANY; i++)
        assert_true(player_await(&table->player, &table->ask[i], 10000));
    assert_int_equal(count_answers(table), MANY);
}

/* Every one but `but` is granted. */
static void must_hold(struct table *table, size_t but)
{
    for (size_t i = 0; i < MANY; i++) {
        if (i == but)
            continue;
        assert_int_equal(table->ask[i].req.status, 0);
        assert_true(is_granted(&table->ask[i]));
        assert_int_equal(length(&table->player, table->name[i]), 1);
    }
}

static void give_up(struct table *table)
{
    for (size_t i = 0; i < MANY; i++)
        table->ask[i].req.op = HF_LEAVE;
    put_all(table);
}

static void one_transaction(void **state)
{
    struct table table;

    (void)state;
    sit_down(&table);
    put_all(&table);
    assert_int_equal(table.commits, 1);
    assert_int_equal(table.early, 0);
    must_hold(&table, MANY);
    for (size_t i = 1; i < MANY; i++) /* in their order */
        assert_true(token_of(&table.ask[i]) > token_of(&table.ask[i - 1]));
    give_up(&table);
    assert_int_equal(table.commits, 1);
    assert_int_equal(table.early, 0);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(table.ask[i].req.status, 0);
        assert_int_equal(length(&table.player, table.name[i]), 0);
    }
    player_close(&table.player);
}

/* Their bytes stand side by side, and are one lock to the kernel.  Others see each go alone. */
static void each_byte_goes_alone(void **state)
{
    struct table  table;
    struct player other;
    struct ask    seen;
    uint64_t      seq[MANY];

    (void)state;
    sit_down(&table);
    player_open(&other);
    put_all(&table);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(list(&other, table.name[i], &seen), 0);
        assert_int_equal(seen.count, 1);
        seq[i] = seen.seen[0].seq;
        assert_int_equal(seq[i], seq[0] + i);
    }
    const struct hf_sq_live *live = &((struct hf_sq *)other.store)->live;
    for (size_t i = 0; i < MANY; i += 2)
        assert_int_equal(leave(&table.player, table.name[i], table.ask[i].req.id), 0);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(hf_sq_live_has(live, seq[i]), i % 2);
    player_close(&other);
    player_close(&table.player);
}

static void one_is_refused(void **state)
{
    struct table  table;
    struct player other;
    struct ask    held;

    (void)state;
    sit_down(&table);
    player_open(&other);
    enter(&other, "7", READER, &held);
    put_all(&table);
    assert_int_equal(table.ask[7].req.status, HF_EMISMATCH);
    assert_non_null(strstr(table.player.store->errmsg, "\"7\" is in use"));
    assert_int_equal(table.commits, 2); /* before it, and behind it */
    must_hold(&table, 7);
    player_close(&other);
    player_close(&table.player);
}

/* In a line whose sum another program has erased: it is counted, and nothing is written. */
static void one_is_refused_in_a_line_without_sum(void **state)
{
    struct lab   *lab = *state;
    struct table  table;
    struct player other;
    struct ask    held;

    sit_down(&table);
    player_open(&other);
    enter(&other, "7", READER, &held);
    lab_sql(lab, "UPDATE ticket SET places = 0, waits = 0, total = 0 WHERE line = '7'");
    put_all(&table);
    assert_int_equal(table.ask[7].req.status, HF_EMISMATCH);
    assert_int_equal(table.commits, 2);
    must_hold(&table, 7);
    player_close(&other);
    player_close(&table.player);
}

/* A row of nobody is swept away for it, and then it cannot be written itself. */
static void one_fails_half_way(void **state)
{
    struct lab  *lab = *state;
    struct table table;
    static char  long_note[3000];

    sit_down(&table);
    lab_sql(lab, "INSERT INTO ticket VALUES ('7', 5, 5, 1, 1, 0, 1, 1, -1, '', 0, 0, 0)");
    memset(long_note, 'x', sizeof long_note - 1);
    table.ask[7].req.note = long_note;
    sqlite3_limit(handle_of(&table.player), SQLITE_LIMIT_LENGTH, 2000);
    put_all(&table);
    assert_int_equal(table.ask[7].req.status, HF_ESTORE);
    assert_int_equal(table.commits, MANY - 1); /* each by itself */
    must_hold(&table, 7);
    assert_int_equal(length(&table.player, "7"), 0);
    player_close(&table.player);
}

static void the_commit_fails(void **state)
{
    struct table table;

    (void)state;
    sit_down(&table);
    table.refuse = 1;
    put_all(&table);
    assert_int_equal(table.commits, 1 + MANY);
    assert_int_equal(table.early, 0);
    must_hold(&table, MANY);
    table.refuse = 1;
    give_up(&table);
    for (size_t i = 0; i < MANY; i++) { /* given up, whatever is written */
        assert_int_equal(table.ask[i].req.status, 0);
        assert_int_equal(length(&table.player, table.name[i]), 0);
    }
    player_close(&table.player);
}

static void one_was_taken_away(void **state)
{
    struct table table;

    (void)state;
    sit_down(&table);
    put_all(&table);
    assert_int_equal(take_away(&table.player, "7", place_of(&table.ask[7])), 0);
    give_up(&table);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(table.ask[i].req.status, i == 7 ? HF_ELOST : 0);
    player_close(&table.player);
}

/* A place that is granted by another one of the same transaction hears of it. */
static void from_hand_to_hand(void **state)
{
    struct table table;
    struct ask   held;

    (void)state;
    sit_down(&table);
    uint64_t id = enter(&table.player, "0", MUTEX, &held);
    table.ask[1].req.op = HF_LEAVE;
    table.ask[1].req.name = "0";
    table.ask[1].req.id = id;
    put_all(&table);
    assert_int_equal(table.commits, 1);
    assert_int_equal(table.ask[1].req.status, 0);
    assert_false(is_granted(&table.ask[0]));
    assert_true(wait_for_turn(&table.player, "0", &table.ask[0], 10000));
    player_close(&table.player);
}

static void twice_the_same(void **state)
{
    struct table table;

    (void)state;
    sit_down(&table);
    table.ask[3].req = table.ask[2].req; /* a repeat */
    table.ask[5].req = table.ask[4].req;
    table.ask[5].req.op = HF_LEAVE;
    put_all(&table);
    assert_true(is_granted(&table.ask[3]));
    assert_int_equal(token_of(&table.ask[3]), token_of(&table.ask[2]));
    assert_int_equal(table.ask[5].req.status, 0);
    assert_int_equal(length(&table.player, "4"), 0);
    player_close(&table.player);
}

/* ---- Killed in the middle ----------------------------------------------------------- */

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
    sit_down(&table);
    sqlite3_commit_hook(handle_of(&table.player), die, NULL);
    put_all(&table);
}

static void die_leaving(struct child *parent)
{
    struct table table;

    (void)parent;
    sit_down(&table);
    put_all(&table);
    sqlite3_commit_hook(handle_of(&table.player), die, NULL);
    give_up(&table);
}

static void killed_before_the_commit(void **state)
{
    struct lab  *lab = *state;
    struct child child;
    struct table table;

    for (int leaving = 0; leaving < 2; leaving++) {
        child_start(&child, leaving ? die_leaving : die_entering);
        assert_int_equal(child_status(&child), -1);
        int64_t rows = lab_sql(lab, "SELECT count(*) FROM ticket WHERE line <> 'first'");
        assert_int_equal(rows, leaving ? MANY : 0);
        sit_down(&table);
        put_all(&table);
        must_hold(&table, MANY);
        player_close(&table.player);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_transaction, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(each_byte_goes_alone, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(one_is_refused, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(one_is_refused_in_a_line_without_sum, lab_setup,
                                        lab_teardown),
        cmocka_unit_test_setup_teardown(one_fails_half_way, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(the_commit_fails, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(one_was_taken_away, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(from_hand_to_hand, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(twice_the_same, lab_setup, lab_teardown),
        cmocka_unit_test_setup_teardown(killed_before_the_commit, lab_setup,
                                        lab_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
