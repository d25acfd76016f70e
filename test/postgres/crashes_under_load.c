/* crashes_under_load.c - many processes take turns at one lock while the server
 * crashes.
 *
 *     test/server/postgres.py standalone -- build/test/postgres/crashes_under_load [PROCESSES TURNS CRASHES]
 *
 * The checker of test/chaos judges their histories.  In the end no row is left in the
 * database.
 */
/* needs: standalone */
#include "lib/promise.h"
#include "lib/server_postgres.h"
#include "lib/turns.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define TTL_MS     3000
#define CROWD_MAX  64
#define TURN_LIMIT 60000 /* ms for one acquire, crashes and all */
#define EXPIRE_MS  20000

static unsigned processes = 8, turns = 60, crashes = 2;

/* In memory that all processes share. */
static struct shared {
    atomic_uint done, lost, refused; /* turns */
} * shared;

static char *folder; /* of histories */

/* ---- One process ----------------------------------------------------------------------- */

static void take_turns(struct child *parent)
{
    struct hf_client *client = NULL;
    struct hf_lock   *lock = NULL;
    struct turns      history;
    char              params[32], who[32];

    (void)parent;
    snprintf(who, sizeof who, "p%d", (int)getpid());
    must(turns_open(&history, folder, who, who) == 0);
    snprintf(params, sizeof params, "ttl=%dms", TTL_MS);
    must(hf_open(server_url(params), NULL, &client) == 0);
    must(hf_mutex(client, "crowd", &lock) == 0);
    for (unsigned i = 0; i < turns; i++) {
        int r;
        while ((r = turns_take(&history, lock, "crowd", 1, 1, TURN_LIMIT)) == HF_ELOST ||
               r == HF_EDOWN)
            shared->refused++; /* the session died while we waited */
        must(r == 0);
        poll(NULL, 0, (int)(hf_token(lock) % 2));
        if (!turns_act(&history, lock)) { /* we know that we lost the lock */
            turns_lost(&history);
            shared->lost++;
        }
        r = turns_give(&history, lock);
        must(r == 0 || r == HF_ELOST || r == HF_EDOWN); /* the last: no answer */
        shared->done++;
    }
    hf_lock_free(lock);
    hf_close(client);
}

/* ---- All processes ----------------------------------------------------------------------- */

static void crash_now_and_then(hf_time start)
{
    unsigned all = processes * turns, done = 0, last = 0;
    hf_time  moved = start;

    while ((done = shared->done) < all) {
        if (done != last)
            moved = hf_now();
        last = done;
        if (hf_now() - moved > TURN_LIMIT * HF_MS)
            fail_msg("%u of %u turns, and no progress", done, all);
        if (crashes > 0 && done >= all - all * crashes / (crashes + 1)) {
            server_tell("restart immediate");
            crashes--;
        }
        poll(NULL, 0, 5);
    }
}

static long rows(const char *what)
{
    return postgres_number("SELECT count(*) FROM holdfast.%s", what);
}

/* A client stays until the sessions that could not say bye have expired.  Its own bye
 * deletes the lines. */
static void expire_what_is_left(void)
{
    static struct actor last;
    hf_time             end = hf_now() + EXPIRE_MS * HF_MS;

    do {
        actor_open(&last, TTL_MS, "last");
        actor_take(&last);
        while (rows("session") > 1 && hf_now() < end)
            poll(NULL, 0, 50);
        actor_give(&last);
        actor_close(&last);
        poll(NULL, 0, 100);
    } while (rows("session") > 0 && hf_now() < end);
    assert_int_equal(rows("place"), 0);
    assert_int_equal(rows("session"), 0);
    assert_int_equal(rows("watch"), 0);
    assert_int_equal(rows("line"), 0);
}

static void many_processes_take_turns_through_crashes(void **state)
{
    static struct child child[CROWD_MAX];
    hf_time             start = hf_now();
    unsigned            planned = crashes;

    (void)state;
    folder = turns_folder();
    assert_non_null(folder);
    for (unsigned i = 0; i < processes; i++)
        child_start(&child[i], take_turns);
    crash_now_and_then(start);
    for (unsigned i = 0; i < processes; i++)
        assert_int_equal(child_status(&child[i]), 0);
    double seconds = (double)(hf_now() - start) / HF_SEC;
    print_message(
        "# %u processes, %u turns in %.1f s, %u crashes; %u lost, %u times refused\n",
        processes, shared->done, seconds, planned, shared->lost, shared->refused);
    assert_int_equal(crashes, 0);
    assert_true(turns_judge(folder));
    assert_true(shared->lost <= processes * turns / 10);
    expire_what_is_left();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        many_processes_take_turns_through_crashes) };

    server_find();
    if (argc == 4) {
        processes = (unsigned)atoi(argv[1]);
        turns = (unsigned)atoi(argv[2]);
        crashes = (unsigned)atoi(argv[3]);
    }
    if (processes > CROWD_MAX)
        return 64;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
