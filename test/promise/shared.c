/* shared.c - a store says whether other users can read its data. */
/* one thread */
#include "lib/promise.h"

#include "holdfast.h"

#include <string.h>

static void hear_nothing(const char *text, void *data)
{
    (void)text;
    (void)data;
}

/* The file or memory of a test is private; a server is not. */
static bool is_ours_alone(void)
{
    return strncmp(promise_url(), "sqlite:", 7) == 0 || !promise_is_shared();
}

static void it_is_known_after_open(void **state)
{
    struct player player;

    (void)state;
    player_open(&player);
    assert_int_equal(player.store->shared, !is_ours_alone());
    player_close(&player);
}

static void a_trace_keeps_it(void **state)
{
    struct player    player;
    struct hf_store *trace;

    (void)state;
    player_open(&player);
    player.store->on_link = NULL; /* the trace sets it */
    assert_int_equal(hf_trace_open(player.store, hear_nothing, NULL, &trace), 0);
    assert_int_equal(trace->shared, !is_ours_alone());
    player.store = trace;
    player_close(&player);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_known_after_open),
        cmocka_unit_test(a_trace_keeps_it),
    };

    promise_start(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
