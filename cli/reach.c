/* reach.c - see reach.h. */
#include "reach.h"

#include "cli.h"
#include "clock.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>

#define MOMENT_NS (400 * NS_PER_MS)

static struct {
    bool    quiet;
    bool    endless;
    bool    down;
    bool    told;
    int64_t since; /* it is down, CLOCK_BOOTTIME ns */
    int64_t back;  /* it was down for so long, and that is to be told; else 0 */
    char    why[512];
} reach;

void reach_start(bool quiet, bool endless)
{
    reach.quiet = quiet;
    reach.endless = endless;
    reach.down = reach.told = false;
    reach.back = 0;
}

void reach_take(struct hf_client *client, enum hf_link link, const char *why, void *data)
{
    int64_t now = clock_boot_ns();

    (void)client, (void)data;
    if (link == HF_LINK_UP) {
        reach.back = reach.down && reach.told ? now - reach.since : 0;
        reach.down = false;
    } else if (link == HF_LINK_DOWN) {
        if (!reach.down) {
            reach.since = now;
            reach.told = false;
        }
        reach.down = true;
        snprintf(reach.why, sizeof reach.why, "%s", why);
    }
}

const char *reach_why(void)
{
    bool lasts = reach.down && clock_boot_ns() - reach.since >= MOMENT_NS;

    return lasts ? reach.why : NULL;
}

const char *reach_again(void)
{
    return reach.endless ? "trying again until you press Ctrl-C (-w TIME sets a limit)"
                         : "trying again";
}

int reach_timeout_ms(void)
{
    int64_t left = reach.since + MOMENT_NS - clock_boot_ns();

    if (reach.quiet || !reach.down || reach.told)
        return -1;
    return left <= 0 ? 0 : (int)(left / NS_PER_MS + 1);
}

static void say_back(void)
{
    char age[TEXT_AGE_MAX];

    if (!reach.quiet && reach.back != 0)
        complain("the store is reached again, after %s",
                 text_age(age, reach.back / (NS_PER_MS / 1000)));
    reach.back = 0;
}

void reach_show(const struct hf_lock *lock)
{
    bool    held = lock != NULL && hf_state(lock) == HF_HELD;
    int64_t left = held ? hf_left_ms(lock) : INT64_MAX;

    say_back();
    if (reach.quiet || reach.told || reach_why() == NULL)
        return;
    reach.told = true;
    if (left != INT64_MAX)
        complain("%s; trying again: \"%s\" is safe for %" PRId64 " s yet", reach.why,
                 hf_name(lock), left / 1000);
    else
        complain("%s; %s", reach.why, reach_again());
}
