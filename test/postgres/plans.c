/* plans.c - how much the server reads for a hand-over does not depend on how many wait, nor on
 * how many were there before.
 *
 * A plan that was made while tables were all but empty is not kept: the server then finds it
 * cheaper to read the whole table, as long as the connection lasts.  And an index has the
 * entries of those who are gone until it is vacuumed.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/witness_postgres.h"

#include <unistd.h>

#define TTL_MS 3000
#define BEFORE 3
#define CYCLES 30
#define FIRST  12 /* plans of the first calls are made for one call each */
#define GONE   20000
#define PAGES  15 /* of one index, for an enter and a hand-over */

static long counted(const char *column)
{
    return postgres_number("SELECT %s FROM pg_stat_user_tables WHERE relid = "
                           "'holdfast.ticket'::regclass",
                           column);
}

/* The server's process ends with the connection, and tells then what it did. */
static void use(int times, long inserts)
{
    static struct actor one;

    actor_open(&one, TTL_MS, "plans");
    for (int i = 0; i < times; i++) {
        actor_take(&one);
        actor_give(&one);
    }
    actor_close(&one);
    for (int i = 0; i < 1000 && counted("n_tup_ins") < inserts; i++)
        usleep(10000);
    assert_int_equal(counted("n_tup_ins"), inserts);
}

static void no_table_is_read_as_a_whole(void **state)
{
    (void)state;
    use(BEFORE, BEFORE); /* makes the schema */
    witness_tell("sql VACUUM ANALYZE holdfast.ticket");
    witness_tell("sql VACUUM ANALYZE holdfast.line");
    long before = counted("seq_scan");
    use(CYCLES, BEFORE + CYCLES);
    assert_in_range(counted("seq_scan") - before, 0, FIRST);
}

static long pages(void)
{
    return postgres_number(
        "SELECT idx_blks_hit + idx_blks_read FROM "
        "pg_statio_user_indexes WHERE indexrelname = 'ticket_waiting'");
}

/* They stood where the server begins to look for who is next. */
static void those_who_are_gone_are_not_looked_at(void **state)
{
    static struct actor one, two;

    (void)state;
    use(BEFORE, counted("n_tup_ins") + BEFORE);
    witness_tell("sql ALTER TABLE holdfast.ticket SET (autovacuum_enabled = off)");
    witness_tell(
        "sql INSERT INTO holdfast.ticket (sid, id, name, seq, weight, claim, secret, "
        "state, slot, since, news, note) SELECT 'gone', n, 'plans', n, 1, false, '', "
        "'w', -1, 0, 0, '' FROM generate_series(1, %d) AS n",
        GONE);
    witness_tell("sql DELETE FROM holdfast.ticket WHERE sid = 'gone'");
    long before = pages(), inserts = counted("n_tup_ins");
    actor_open(&one, TTL_MS, "plans");
    actor_open(&two, TTL_MS, "plans");
    actor_take(&one);
    for (int i = 0; i < CYCLES; i++) {
        struct actor *has = i % 2 == 0 ? &one : &two, *next = i % 2 == 0 ? &two : &one;
        assert_int_equal(hf_acquire_start(next->lock, ACTOR_LIMIT_MS), 0);
        while (hf_ahead(next->lock) != 1) /* a witness would look for it there, too */
            usleep(1000);
        actor_give(has);
        actor_await(next, HF_HELD);
    }
    actor_give(CYCLES % 2 == 0 ? &one : &two);
    actor_close(&one);
    actor_close(&two);
    for (int i = 0; i < 1000 && counted("n_tup_ins") < inserts + CYCLES + 1; i++)
        usleep(10000);
    print_message("# %ld pages of an index for %d hand-overs\n", pages() - before,
                  CYCLES);
    assert_in_range(pages() - before, CYCLES, CYCLES * PAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_table_is_read_as_a_whole),
        cmocka_unit_test(those_who_are_gone_are_not_looked_at),
    };

    witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
