/* session_size.c - how much one session may hold.  When a session ends, the leader sends its
 * followers the paths of all its nodes in one piece.  One that they do not accept stops all
 * servers for good, so no client lets its session grow that far: HF_EFULL.
 */
/* needs: standalone --tick 200 --config maxSessionTimeout=60000 */
#include "lib/clients.h"
#include "lib/witness.h"

#include <stdio.h>
#include <string.h>

#define BUFFER 262144
#define MOST   (BUFFER / 4 * 3)

/* The longest name that a lock may have, different for each `i`. */
static const char *long_name(unsigned i)
{
    static char name[256];

    memset(name, 'n', sizeof name - 1);
    name[snprintf(name, sizeof name, "%u", i)] = 'n';
    return name;
}

static void open_with(struct player *player, const char *params)
{
    static char url[128];

    snprintf(url, sizeof url, "zk://%s?session=60s&maxbuffer=%d%s", witness_server(),
             BUFFER, params);
    player_connect_url(player, url);
}

/* Enter long names from `first` on until one is refused: how many were not? */
static unsigned fill(struct player *player, unsigned first, struct hf_shape shape)
{
    for (unsigned i = first;; i++) {
        struct request request = { .req = { .op = HF_ENTER,
                                            .name = long_name(i),
                                            .id = ++player->ids,
                                            .shape = shape } };
        int            status = player_run(player, &request);
        if (status == HF_EFULL)
            return i - first;
        assert_int_equal(status, 0);
    }
}

/* `nodes`: of each place; `path`: the longest that one has. */
static void check_shape(const char *params, struct hf_shape shape, unsigned nodes,
                        unsigned path)
{
    struct player player, other;

    open_with(&player, params);
    unsigned count = fill(&player, 0, shape);
    assert_in_range(count, MOST / (nodes * (path + 4)) * 4 / 5, MOST / (nodes * 256));
    assert_non_null(strstr(player.store->errmsg, "maxbuffer"));

    /* Nothing was made for the one that was refused, and others are not concerned. */
    open_with(&other, params);
    assert_int_equal(length(&other, long_name(count)), 0);
    assert_true(fill(&other, count, MUTEX) > 0);
    player_close(&other);

    /* There is room again after a LEAVE, and after the loss of a place. */
    assert_int_equal(leave(&player, long_name(0), 1), 0);
    assert_int_equal(fill(&player, count + 1, shape), 1);
    player_open_60s(&other, witness_server());
    struct request listed;
    assert_int_equal(list(&other, long_name(1), &listed), 0);
    assert_int_equal(take_away(&other, long_name(1), place_listed(&listed.seen[0])), 0);
    assert_int_equal(leave(&player, long_name(1), 2), HF_ELOST);
    assert_int_equal(fill(&player, count + 3, shape), 1);
    player_close(&other);
    player_close(&player);
}

static void mutexes(void **state)
{
    (void)state;
    check_shape("&style=kazoo", MUTEX, 1, 320);
}

static void semaphores_have_two_nodes(void **state)
{
    (void)state;
    check_shape("", semaphore(2, 1), 2, 320);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutexes),
        cmocka_unit_test(semaphores_have_two_nodes),
    };

    witness_server();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
