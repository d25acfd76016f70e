/* slow_answers.c - an answer to a renewal arrives late: the lease counts from the moment
 * of sending, which is when the server may have counted from. */
/* needs redis: standalone */
/* needs postgres: standalone */
/* needs mariadb: standalone */
#include "lib/promise.h"
#include "lib/server.h"
#include "lib/tcpproxy.h"

#include <poll.h>

#define TTL_MS   6000
#define LATE_MS  1000
#define SLACK_MS 400 /* for us to send the renewal */
#define TRIES    5   /* a busy machine may need more time than that */

/* How long after its sending the lease ends that a late answer confirms; 0: there was no
 * answer. */
static int64_t lease_by_late_answer(struct tcpproxy *proxy, struct hf_lock *lock)
{
    int64_t sent = hf_now() / HF_MS;

    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_ALL);
    assert_true(hf_check(lock, LATE_MS / 2) < 0); /* it sends a renewal: no answer */
    int64_t now = hf_now() / HF_MS;
    if (now < sent + LATE_MS)
        poll(NULL, 0, (int)(sent + LATE_MS - now));
    int64_t before = hf_now() / HF_MS + hf_left_ms(lock), until = before;
    tcpproxy_hold(proxy, TCPPROXY_DOWN, TCPPROXY_NOBODY);
    for (int ms = 0; ms < 1000 && until < before + 50; ms++) {
        poll(NULL, 0, 1);
        until = hf_now() / HF_MS + hf_left_ms(lock);
    }
    return until >= before + 50 ? until - sent : 0;
}

static void test_a_lease_counts_from_the_sending(void **state)
{
    struct tcpproxy    *proxy = tcpproxy_start(server_address(), NULL);
    static struct actor a;
    int64_t             shortest = 0;

    (void)state;
    actor_open_at(&a, tcpproxy_address(proxy), TTL_MS, "slow");
    actor_take(&a);
    for (int i = 0; i < TRIES && (shortest == 0 || shortest > TTL_MS + SLACK_MS); i++) {
        poll(NULL, 0, 300); /* so that the next answer moves the deadline */
        int64_t lease = lease_by_late_answer(proxy, a.lock);
        if (lease != 0 && (shortest == 0 || lease < shortest))
            shortest = lease;
    }
    print_message("a lease of %d ms ends %d ms after it was asked for\n", TTL_MS,
                  (int)shortest);
    assert_in_range(shortest, 1, TTL_MS + SLACK_MS);
    actor_give(&a);
    actor_close(&a);
    tcpproxy_stop(proxy);
    server_expect_empty();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lease_counts_from_the_sending),
    };

    server_find();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
