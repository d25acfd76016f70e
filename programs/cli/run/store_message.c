/* store_message.c - the store cannot be reached, or somebody asks for the lock; see
 * messages.h. */
#include "run/messages.h"

#include "clock.h"
#include "complain.h"
#include "run/status.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

#define MOMENT_NS (400 * NS_PER_MS)

static struct {
    bool    quiet;
    bool    endless;
    bool    down;
    bool    told;
    int64_t since; /* when it went down, CLOCK_BOOTTIME ns */
    int64_t back;  /* how long it was down, if the user is still to be told; else 0 */
    char    why[512];
} state;

void store_message_start(bool quiet, bool endless)
{
    state.quiet = quiet;
    state.endless = endless;
    state.down = state.told = false;
    state.back = 0;
}

void store_message_on_link(struct hf_client *client, enum hf_link link, const char *why,
                           void *data)
{
    int64_t now = clock_boot_ns();

    (void)client, (void)data;
    if (link == HF_LINK_UP) {
        state.back = state.down && state.told ? now - state.since : 0;
        state.down = false;
    } else if (link == HF_LINK_DOWN) {
        if (!state.down) {
            state.since = now;
            state.told = false;
        }
        state.down = true;
        snprintf(state.why, sizeof state.why, "%s", why);
    }
}

const char *store_message_why(void)
{
    bool lasts = state.down && clock_boot_ns() - state.since >= MOMENT_NS;

    return lasts ? state.why : NULL;
}

const char *store_message_retry(void)
{
    return state.endless ? "trying again until you press Ctrl-C (-w TIME sets a limit)"
                         : "trying again";
}

int store_message_timeout_ms(void)
{
    int64_t left = state.since + MOMENT_NS - clock_boot_ns();

    if (state.quiet || !state.down || state.told)
        return -1;
    return left <= 0 ? 0 : (int)(left / NS_PER_MS + 1);
}

static void say_back(void)
{
    char age[TEXT_AGE_MAX];

    if (!state.quiet && state.back != 0)
        complain("the store can be reached again, after %s",
                 text_age(age, state.back / (NS_PER_MS / 1000)));
    state.back = 0;
}

void store_message_show(const struct hf_lock *lock)
{
    bool    held = lock != NULL && hf_state(lock) == HF_HELD;
    int64_t left = held ? hf_left_ms(lock) : INT64_MAX;

    say_back();
    if (state.quiet || state.told || store_message_why() == NULL)
        return;
    state.told = true;
    if (left != INT64_MAX)
        complain("%s; trying again: \"%s\" is safe for another %" PRId64 " s", state.why,
                 hf_name(lock), left / 1000);
    else
        complain("%s; %s", state.why, store_message_retry());
}

/* ---- Requests ------------------------------------------------------------------- */

void requests_on_ask(struct requests *requests, const char *reason)
{
    requests->fresh = true;
    snprintf(requests->reason, sizeof requests->reason, "%s", reason);
    status_asked(reason);
}

bool requests_next(struct requests *requests)
{
    bool fresh = requests->fresh;

    requests->fresh = false;
    return fresh;
}

void requests_say(const struct requests *requests, const char *name, const char *then)
{
    complain("somebody asks for \"%s\"%s%s%s", name, *requests->reason ? ": " : "",
             requests->reason, then);
}
