/* hold.c - the state machine: every state with every event.
 *
 * Run without arguments.  A pair that the driver must never bring about is
 * expected to end in a failed assert, which is tried in a child process.
 */
#include "core/hold.h"

#include "holdfast.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const struct hf_shape mutex = { .weight = 1, .capacity = 1 };
static const struct hf_shape claim = { .weight = 1, .capacity = 1, .claim = true };
static const struct hf_shape other = { .weight = 1, .capacity = 2 };

static uint64_t ids;

/* ---- Events ---------------------------------------------------------------------- */

/* The line as an answer shows it: somebody ahead, or not; ourselves, or not. */
static struct hf_event seen(const struct hf_shape *ahead, const struct hf_shape *mine)
{
    static struct hf_ticket ticket[2];
    struct hf_event         event = { .what = HF_LINE, .line.ticket = ticket };

    if (ahead != NULL)
        ticket[event.line.count++] =
            (struct hf_ticket){ .seq = 5, .token = 50, .shape = *ahead, .slot = -1 };
    event.me = event.line.count;
    if (mine != NULL)
        ticket[event.line.count++] =
            (struct hf_ticket){ .seq = 7, .token = 70, .shape = *mine, .slot = 3 };
    return event;
}

enum {
    WANT,
    FITS,    /* LINE: we are the first */
    BEHIND,  /* LINE: somebody is ahead */
    ABSENT,  /* LINE: somebody is there, we are not */
    EMPTY,   /* LINE: nobody is there */
    STRANGE, /* LINE: what is ahead is another kind of lock */
    WOKEN,
    DOWN,
    FAILED,
    DROP,
    LEFT,
    GONE,
    EXPIRED,
    EVENTS
};

static struct hf_event make_event(const struct hf_hold *hold, int which)
{
    const struct hf_shape *shape = &hold->shape;

    switch (which) {
    case WANT:
        return (struct hf_event){ .what = HF_WANT };
    case FITS:
        return seen(NULL, shape);
    case BEHIND:
        return seen(shape, shape);
    case ABSENT:
        return seen(shape, NULL);
    case EMPTY:
        return seen(NULL, NULL);
    case STRANGE:
        return seen(&other, shape);
    case WOKEN:
        return (struct hf_event){ .what = HF_WOKEN };
    case DOWN:
        return (struct hf_event){ .what = HF_FAILED, .why = HF_EDOWN };
    case FAILED:
        return (struct hf_event){ .what = HF_FAILED, .why = HF_ESTORE };
    case DROP:
        return (struct hf_event){ .what = HF_DROP, .why = HF_ECANCELED };
    case LEFT:
        return (struct hf_event){ .what = HF_LEFT };
    case GONE:
        return (struct hf_event){ .what = HF_GONE };
    default:
        return (struct hf_event){ .what = HF_EXPIRED };
    }
}

static void step(struct hf_hold *hold, int which)
{
    struct hf_event event = make_event(hold, which);

    hf_hold_step(hold, &event);
}

/* ---- States ---------------------------------------------------------------------- */

/* How to get there from IDLE, and what each event then leads to:
 *   i idle  e entering  w waiting  l looking  h held  d held, in doubt
 *   v leaving  x lost, ticket may be there  a lost, ticket gone
 *   - never happens */
static const struct {
    const char            *name;
    const struct hf_shape *shape;
    bool                   once;
    int                    path[4]; /* after WANT; ends with EVENTS */
    const char            *letter;
    /* in the order of WANT FITS BEHIND ABSENT EMPTY STRANGE WOKEN, then
     * DOWN FAILED DROP LEFT GONE EXPIRED */
    const char *expected;
} states[] = {
    { "idle", &mutex, false, { -1 }, "i", "e----------ii" },
    { "entering", &mutex, false, { EVENTS }, "e", "-hweev-evv-ee" },
    { "trying", &mutex, true, { EVENTS }, "e", "-hviev-evv-ee" },
    { "claiming", &claim, false, { EVENTS }, "e", "-hwwev-evv-ee" },
    { "waiting", &mutex, false, { BEHIND, EVENTS }, "w", "------lwvv-ew" },
    { "claim outside", &claim, false, { ABSENT, EVENTS }, "w", "------ewvi-ew" },
    { "looking", &mutex, false, { BEHIND, WOKEN, EVENTS }, "l", "-hweev-lvv-el" },
    { "held", &mutex, false, { FITS, EVENTS }, "h", "------dhhv-ax" },
    { "in doubt", &mutex, false, { FITS, WOKEN, EVENTS }, "d", "-hhaah-ddv-ax" },
    { "leaving", &mutex, false, { FITS, DROP, EVENTS }, "v", "-------vvviiv" },
    { "lost", &mutex, false, { FITS, EXPIRED, EVENTS }, "x", "---------v-ax" },
    { "lost for good", &mutex, false, { FITS, GONE, EVENTS }, "a", "---------i-aa" },
};

#define STATES (sizeof states / sizeof *states)

static struct hf_hold make_state(size_t which)
{
    struct hf_hold hold;

    hf_hold_init(&hold, states[which].shape, &ids);
    if (states[which].path[0] == -1)
        return hold;
    hf_hold_step(&hold,
                 &(struct hf_event){ .what = HF_WANT, .once = states[which].once });
    for (const int *event = states[which].path; *event != EVENTS; event++)
        step(&hold, *event);
    return hold;
}

static char letter_of(const struct hf_hold *hold)
{
    if (hold->state == HF_HOLD_HELD && hold->doubt)
        return 'd';
    if (hold->state == HF_HOLD_LOST && hold->away)
        return 'a';
    return "iewlhvx"[hold->state];
}

static enum hf_op need_of(char letter)
{
    static const enum hf_op needs[] = { HF_NOTHING, HF_ENTER,   HF_WATCH,
                                        HF_READ,    HF_WATCH,   HF_READ,
                                        HF_LEAVE,   HF_NOTHING, HF_NOTHING };

    return needs[strchr("iewlhdvxa", letter) - "iewlhdvxa"];
}

/* ---- The table ------------------------------------------------------------------- */

static bool dies(size_t state, int event)
{
    pid_t pid = fork();
    int   status;

    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit none = { 0, 0 };
        int           null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        setrlimit(RLIMIT_CORE, &none);
        dup2(null, STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        struct hf_hold hold = make_state(state);
        step(&hold, event);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void test_every_state_with_every_event(void **state)
{
    (void)state;
    for (size_t i = 0; i < STATES; i++) {
        assert_int_equal(strlen(states[i].expected), EVENTS);
        for (int event = 0; event < EVENTS; event++) {
            char expected = states[i].expected[event];
            if (expected == '-') {
                if (!dies(i, event))
                    fail_msg("%s: event %d is let through", states[i].name, event);
                continue;
            }
            struct hf_hold hold = make_state(i);
            step(&hold, event);
            if (letter_of(&hold) != expected)
                fail_msg("%s: event %d leads to %c, not %c", states[i].name, event,
                         letter_of(&hold), expected);
            assert_int_equal(hf_hold_needs(&hold), need_of(expected));
        }
    }
}

static void test_states_are_what_they_are_called(void **state)
{
    (void)state;
    for (size_t i = 0; i < STATES; i++) {
        struct hf_hold hold = make_state(i);
        char           letter = letter_of(&hold);
        assert_int_equal(letter, states[i].letter[0]);
        assert_int_equal(hf_hold_at_rest(&hold), strchr("ihdxa", letter) != NULL);
        assert_int_equal(hf_hold_only_free(&hold), states[i].once || hold.shape.claim);
        assert_int_equal(hold.token, strchr("hd", letter) != NULL ? 70 : 0);
        assert_int_equal(hold.slot, strchr("hd", letter) != NULL ? 3 : -1);
    }
}

/* Whoever enters anew does so under a new id, so that what is still said about
 * the old place is not taken for the new one; whoever goes on keeps the id. */
static void test_a_new_place_has_a_new_id(void **state)
{
    (void)state;
    for (size_t i = 0; i < STATES; i++) {
        for (int event = 0; event < EVENTS; event++) {
            if (states[i].expected[event] == '-')
                continue;
            struct hf_hold hold = make_state(i);
            uint64_t       before = hold.id;
            step(&hold, event);
            bool repeats =
                states[i].letter[0] == 'e' && (event == DOWN || event == EXPIRED);
            bool anew = states[i].expected[event] == 'e' && !repeats;
            if (anew)
                assert_true(hold.id > before && hold.id == ids && hold.seq == 0);
            else
                assert_int_equal(hold.id, before);
        }
    }
}

/* ---- Why it ended ----------------------------------------------------------------- */

static int why_after(const struct hf_shape *shape, bool once, const int *path)
{
    struct hf_hold hold;

    hf_hold_init(&hold, shape, &ids);
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_WANT, .once = once });
    for (; *path != EVENTS; path++)
        step(&hold, *path);
    assert_int_equal(hold.state, HF_HOLD_IDLE);
    return hold.why;
}

#define WHY(shape, once, ...) \
    why_after(&(shape), once, (const int[]){ __VA_ARGS__, EVENTS })

static void test_why_it_ended(void **state)
{
    (void)state;
    assert_int_equal(WHY(mutex, true, ABSENT), HF_EBUSY);
    assert_int_equal(WHY(mutex, true, BEHIND, LEFT), HF_EBUSY);
    assert_int_equal(WHY(mutex, false, STRANGE, LEFT), HF_EMISMATCH);
    assert_int_equal(WHY(mutex, false, FAILED, LEFT), HF_ESTORE);
    assert_int_equal(WHY(mutex, false, BEHIND, DROP, LEFT), HF_ECANCELED);
    assert_int_equal(WHY(mutex, false, BEHIND, DROP, GONE), HF_ECANCELED);
    assert_int_equal(WHY(mutex, false, FITS, GONE, DROP), HF_ELOST);
    assert_int_equal(WHY(mutex, false, FITS, EXPIRED, DROP, LEFT), HF_ELOST);
    assert_int_equal(WHY(claim, false, ABSENT, WOKEN, EMPTY, FITS, GONE, DROP), HF_ELOST);
}

static struct hf_hold released(void)
{
    struct hf_hold hold;

    hf_hold_init(&hold, &mutex, &ids);
    step(&hold, WANT);
    step(&hold, FITS);
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_DROP, .why = 0 });
    return hold;
}

static void test_a_release_is_good_only_if_the_store_says_so(void **state)
{
    (void)state;
    struct hf_hold hold = released();
    step(&hold, DOWN); /* not known: asked again */
    step(&hold, LEFT);
    assert_int_equal(hold.why, 0);

    hold = released();
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_LEFT, .why = HF_ELOST });
    assert_int_equal(hold.why, HF_ELOST);

    hold = released();
    step(&hold, GONE);
    assert_int_equal(hold.why, HF_ELOST);
}

static void test_a_stranger_seen_by_a_claim_that_was_refused(void **state)
{
    struct hf_hold  hold;
    struct hf_event event = seen(&other, NULL);

    (void)state;
    hf_hold_init(&hold, &claim, &ids);
    step(&hold, WANT);
    hf_hold_step(&hold, &event);
    assert_int_equal(hold.state, HF_HOLD_IDLE);
    assert_int_equal(hold.why, HF_EMISMATCH);
}

/* ---- Whom it watches ---------------------------------------------------------------- */

static struct hf_hold behind(size_t count, uint32_t capacity)
{
    struct hf_ticket ticket[HF_WATCH_MAX + 2];
    struct hf_shape  shape = { .weight = 1, .capacity = capacity };
    struct hf_hold   hold;

    for (size_t i = 0; i <= count; i++)
        ticket[i] = (struct hf_ticket){ .seq = 100 + i, .token = i + 1, .shape = shape };
    hf_hold_init(&hold, &shape, &ids);
    step(&hold, WANT);
    hf_hold_step(&hold, &(struct hf_event){ .what = HF_LINE,
                                            .line = { ticket, count + 1 },
                                            .me = count });
    return hold;
}

static void test_waiting_watches_what_the_judge_names(void **state)
{
    (void)state;
    struct hf_hold hold = behind(5, 3);
    assert_int_equal(hold.state, HF_HOLD_WAITING);
    assert_int_equal(hold.seq, 105);
    assert_int_equal(hold.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(hold.watch[i], 102 + i);
}

static void test_too_many_to_name_means_any_change(void **state)
{
    (void)state;
    struct hf_hold hold = behind(HF_WATCH_MAX, HF_WATCH_MAX);
    assert_int_equal(hold.count, HF_WATCH_MAX);
    hold = behind(HF_WATCH_MAX + 1, HF_WATCH_MAX + 1);
    assert_int_equal(hold.state, HF_HOLD_WAITING);
    assert_int_equal(hold.count, 0);
}

static void test_holding_watches_the_own_ticket(void **state)
{
    struct hf_hold hold = behind(2, 3);

    (void)state;
    assert_int_equal(hold.state, HF_HOLD_HELD);
    assert_int_equal(hold.count, 1);
    assert_int_equal(hold.watch[0], hold.seq);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_state_with_every_event),
        cmocka_unit_test(test_states_are_what_they_are_called),
        cmocka_unit_test(test_a_new_place_has_a_new_id),
        cmocka_unit_test(test_why_it_ended),
        cmocka_unit_test(test_a_release_is_good_only_if_the_store_says_so),
        cmocka_unit_test(test_a_stranger_seen_by_a_claim_that_was_refused),
        cmocka_unit_test(test_waiting_watches_what_the_judge_names),
        cmocka_unit_test(test_too_many_to_name_means_any_change),
        cmocka_unit_test(test_holding_watches_the_own_ticket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
