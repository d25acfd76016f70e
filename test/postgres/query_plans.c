/* query_plans.c - how much the server reads for a hand-over depends neither on how many
 * wait nor on how many have been there before.
 *
 * The server must not keep a plan that was made while tables were nearly empty: such a
 * plan reads the whole table.  And an index keeps the entries of deleted places until
 * it is vacuumed.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/server_postgres.h"

#include <unistd.h>

#define TTL_MS 3000
#define BEFORE 3
#define CYCLES 60
#define FIRST  25 /* the plan of each of the first calls is used once */
#define GONE   20000
#define PAGES  15 /* of one index, for an enter and a hand-over */

static long statistic(const char *table, const char *column)
{
    return postgres_number("SELECT coalesce((SELECT %s FROM pg_stat_user_tables WHERE "
                           "schemaname = 'holdfast' AND relname = '%s'), 0)",
                           column, table);
}

/* Take and release it, which only changes the line's row.  The server's process reports
 * its statistics when the connection ends. */
static void use(int times)
{
    static struct actor one;
    long                updates = statistic("line", "n_tup_upd") + 2 * times;

    actor_open(&one, TTL_MS, "plans");
    for (int i = 0; i < times; i++) {
        actor_take(&one);
        actor_give(&one);
    }
    actor_close(&one);
    for (int i = 0; i < 1000 && statistic("line", "n_tup_upd") < updates; i++)
        usleep(10000);
    assert_in_range(statistic("line", "n_tup_upd"), updates,
                    updates + 3); /* hello, bye */
}

static void no_plan_reads_a_whole_table(void **state)
{
    (void)state;
    use(BEFORE); /* makes the schema */
    server_tell("sql VACUUM ANALYZE holdfast.place");
    server_tell("sql VACUUM ANALYZE holdfast.line");
    long before = statistic("line", "seq_scan") + statistic("place", "seq_scan");
    use(CYCLES);
    assert_in_range(statistic("line", "seq_scan") + statistic("place", "seq_scan") -
                        before,
                    0, FIRST);
}

static long pages(void)
{
    return postgres_number("SELECT idx_blks_hit + idx_blks_read FROM "
                           "pg_statio_user_indexes WHERE indexrelname = 'place_waiting'");
}

/* Their index entries are where the server starts to search for the next waiter. */
static void deleted_waiters_do_not_slow_a_hand_over_down(void **state)
{
    static struct actor one, two;

    (void)state;
    use(BEFORE);
    server_tell("sql ALTER TABLE holdfast.place SET (autovacuum_enabled = off)");
    server_tell(
        "sql INSERT INTO holdfast.place (sid, id, name, seq, weight, claim, grant_secret, "
        "state, slot, since, messages, note) SELECT 'gone', n, 'plans', n, 1, false, '', "
        "'w', -1, 0, 0, '' FROM generate_series(1, %d) AS n",
        GONE);
    server_tell("sql DELETE FROM holdfast.place WHERE sid = 'gone'");
    long before = pages(), inserts = statistic("place", "n_tup_ins");
    actor_open(&one, TTL_MS, "plans");
    actor_open(&two, TTL_MS, "plans");
    actor_take(&one);
    for (int i = 0; i < CYCLES; i++) {
        struct actor *has = i % 2 == 0 ? &one : &two, *next = i % 2 == 0 ? &two : &one;
        actor_start(next);
        while (hf_ahead(next->lock) != 1) /* a witness would read the same index */
            usleep(1000);
        actor_give(has);
        actor_await(next, HF_HELD);
    }
    actor_give(CYCLES % 2 == 0 ? &one : &two);
    actor_close(&one);
    actor_close(&two);
    for (int i = 0; i < 1000; i++) {
        if (statistic("place", "n_tup_ins") >= inserts + CYCLES + 1)
            break;
        usleep(10000);
    }
    print_message("# %ld pages of an index for %d hand-overs\n", pages() - before,
                  CYCLES);
    assert_in_range(pages() - before, CYCLES, CYCLES * PAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_plan_reads_a_whole_table),
        cmocka_unit_test(deleted_waiters_do_not_slow_a_hand_over_down),
    };

    server_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
