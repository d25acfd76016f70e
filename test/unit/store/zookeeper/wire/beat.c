/* beat.c - which answers move the deadline, in virtual time. */
/* one thread */
#include "store/zookeeper/inner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SESSION (6 * HF_SEC)
#define TRIP    (10 * HF_MS)

/* A server that has lost its leader still answers pings, while the others may have given
 * the session up: only a write that was committed proves that they have not. */
static void test_a_ping_does_not_move_the_deadline(void **state)
{
    char             errmsg[HF_ERRMSG_MAX];
    char             rest[] = "//127.0.0.1:1";
    struct hf_config config = { .url = rest,
                                .scheme = "zk",
                                .rest = rest,
                                .given = rest,
                                .ttl_ms = SESSION / HF_MS };
    struct hf_store *store = NULL;
    hf_time          now = HF_SEC;

    (void)state;
    assert_int_equal(hf_store_open(&config, errmsg, &store), 0);
    struct hf_zk *zk = (struct hf_zk *)store;
    zk->link.session = 7;
    zk->dial.phase = HF_DIAL_READY;
    zk->link.greeted = zk->remote.now = now;
    hf_zk_beat_start(zk, SESSION, now + TRIP, true);
    hf_zk_beat_heard(zk, now + TRIP, now + 2 * TRIP, true);
    hf_time first = store->alive_until;
    assert_in_range(first, now + SESSION * 9 / 10, now + SESSION);

    for (int i = 0; i < 4; i++) {
        now += HF_SEC;
        zk->beat.pinged = now;
        hf_zk_beat_pong(zk, now + TRIP);
        assert_int_equal(zk->beat.pinged, 0);
        assert_int_equal(store->alive_until, first);
    }
    now += HF_SEC;
    hf_zk_beat_heard(zk, now, now + TRIP, true); /* it proves earlier pings */
    assert_true(store->alive_until > first);
    zk->link.session = 0;
    zk->dial.phase = HF_DIAL_RESTING; /* there is no connection to close */
    store->impl->close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_ping_does_not_move_the_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
