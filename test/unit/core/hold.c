/* hold.c - the state machine: every state with every event.
 *
 * A pair that the engine must never bring about has to end in a failed assert, which is
 * tried in a child process.
 */
/* one thread */
#include "lib/hold_events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct hf_shape mutex = { .weight = 1, .capacity = 1 };
static const struct hf_shape writer = { .weight = HF_ALL, .capacity = HF_ALL };
static const struct hf_shape claim = { .weight = 1, .capacity = 1, .claim = true };

static uint64_t ids;

/* ---- States ---------------------------------------------------------------------- */

/* How to get there from IDLE, and what each event then leads to:
 *   i idle  e entering  w waiting  o outside  h held  m held, to be downgraded
 *   v leaving  x lost, the place may be there  a lost, the place is gone
 *   - never happens */
static const struct {
    const char            *name;
    const struct hf_shape *shape;
    bool                   once;
    int                    path[5]; /* after WANT; ends with EVENTS */
    const char            *letter;
    /* in the order of WANT HOLDS WAITS NONE LESSER CHANGED BUSY, then
     * DOWN FAILED DROP LEFT GONE EXPIRED DOWNGRADE */
    const char *expected;
} states[] = {
    { "idle", &mutex, false, { -1 }, "i", "e----------ii-" },
    { "entering", &mutex, false, { EVENTS }, "e", "-hweh-ievv-ee-" },
    { "trying", &mutex, true, { EVENTS }, "e", "-hveh-ievv-ee-" },
    { "claiming", &claim, false, { EVENTS }, "e", "-hweh-oevv-ee-" },
    { "trying a claim", &claim, true, { EVENTS }, "e", "-hveh-ievv-ee-" },
    { "waiting", &mutex, false, { WAITS, EVENTS }, "w", "-hweh-vwvv-ew-" },
    { "claim outside", &claim, false, { BUSY, EVENTS }, "o", "-----evovi-eo-" },
    { "held", &mutex, false, { HOLDS, EVENTS }, "h", "-hhah-hhhv-axm" },
    { "to lessen", &writer, false, { HOLDS, DOWNGRADE, EVENTS }, "m", "-mmah-mmmv-axm" },
    { "lessened",
      &writer,
      false,
      { HOLDS, DOWNGRADE, LESSER, EVENTS },
      "h",
      "-hhah-hhhv-axm" },
    { "leaving", &mutex, false, { HOLDS, DROP, EVENTS }, "v", "------vvvviiv-" },
    { "lost", &mutex, false, { HOLDS, EXPIRED, EVENTS }, "x", "---------v-ax-" },
    { "lost for good", &mutex, false, { HOLDS, GONE, EVENTS }, "a", "---------i-aa-" },
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
    if (hold->state == HF_HOLD_HELD && hold->downgrade)
        return 'm';
    if (hold->state == HF_HOLD_LOST && hold->away)
        return 'a';
    return "iewohvx"[hold->state];
}

static enum hf_op need_of(char letter)
{
    static const enum hf_op needs[] = { HF_NOTHING, HF_ENTER,   HF_WATCH,
                                        HF_WATCH,   HF_WATCH,   HF_DOWNGRADE,
                                        HF_LEAVE,   HF_NOTHING, HF_NOTHING };

    return needs[strchr("iewohmvxa", letter) - "iewohmvxa"];
}

/* ---- The table ------------------------------------------------------------------- */

struct pair {
    size_t state;
    int    event;
};

static void step_pair(const void *data)
{
    const struct pair *pair = data;
    struct hf_hold     hold = make_state(pair->state);

    step(&hold, pair->event);
}

static void test_every_state_with_every_event(void **state)
{
    (void)state;
    for (size_t i = 0; i < STATES; i++) {
        assert_int_equal(strlen(states[i].expected), EVENTS);
        for (int event = 0; event < EVENTS; event++) {
            char expected = states[i].expected[event];
            if (expected == '-') {
                if (!aborts(step_pair, &(struct pair){ i, event }))
                    fail_msg("%s: event %d is not refused", states[i].name, event);
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

static void test_the_paths_lead_to_their_states(void **state)
{
    (void)state;
    for (size_t i = 0; i < STATES; i++) {
        struct hf_hold hold = make_state(i);
        char           letter = letter_of(&hold);
        assert_int_equal(letter, states[i].letter[0]);
        assert_int_equal(hf_hold_only_free(&hold), states[i].once || hold.shape.claim);
        assert_int_equal(hold.token, strchr("hm", letter) != NULL ? 70 : 0);
        assert_int_equal(hold.slot, strchr("hm", letter) != NULL ? 3 : -1);
    }
}

/* So that late news of the old place are not taken for the new one.  A hold that goes on
 * keeps its id. */
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
                assert_true(hold.id > before && hold.id == ids);
            else
                assert_int_equal(hold.id, before);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_state_with_every_event),
        cmocka_unit_test(test_the_paths_lead_to_their_states),
        cmocka_unit_test(test_a_new_place_has_a_new_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
