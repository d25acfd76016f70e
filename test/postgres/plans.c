/* plans.c - a plan that was made while tables were all but empty is not kept for long lines.
 *
 * The server then finds it cheaper to read the whole table.  The plan stays as long as the
 * connection does, and each hand-over would take the longer the more wait.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/witness_postgres.h"

#include <unistd.h>

#define TTL_MS 3000
#define BEFORE 3
#define CYCLES 30
#define FIRST  12 /* plans of the first calls are made for one call each */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_table_is_read_as_a_whole),
    };

    witness_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
