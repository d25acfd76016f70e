/* act.c - see act.h. */
#include "act.h"

#include "clock.h"

#define LIMIT_MS 1500 /* the screen stands still meanwhile */

static const char *message_of(struct monitor *monitor, int error)
{
    const char *message = hf_errmsg(monitor->client);

    return message != NULL && *message != '\0' ? message : hf_strerror(error);
}

/* A request does not change the queue, so make the monitor read the history.  If the store keeps
 * none, add the request to our own. */
static void note_request(struct monitor *monitor, const struct top *top)
{
    const struct lock *lock = locks_find(&monitor->locks, top->target_name);

    monitor->round_ended = true;
    for (size_t i = 0; lock != NULL && !monitor->exact && i < lock->report->count; i++)
        if (lock->report->entry[i]->held)
            history_add_place(&monitor->history, "asked", lock->report->entry[i],
                              clock_wall_us(), top->input.text);
}

void act_ask(struct monitor *monitor, struct top *top)
{
    const char *reason = *top->input.text != '\0' ? top->input.text : NULL;
    int         r = hf_ask(monitor->client, top->target_name, reason, LIMIT_MS);

    if (r == HF_ENOTFOUND)
        top_message(top, false, "nobody holds \"%s\" any more: nobody was asked",
                    top->target_name);
    else if (r < 0)
        top_message(top, true, "it is not known whether anybody was asked: %s",
                    message_of(monitor, r));
    else
        top_message(top, false, "asked %d holder%s of \"%s\"", r, r == 1 ? "" : "s",
                    top->target_name);
    if (r > 0)
        note_request(monitor, top);
}

void act_break(struct monitor *monitor, struct top *top)
{
    int r = hf_break(monitor->client, top->target_name, top->target_token, LIMIT_MS);

    if (r == HF_ENOTFOUND)
        top_message(top, false, "the lock was released meanwhile: nothing was broken");
    else if (r == HF_ETIMEOUT || r == HF_EDOWN)
        top_message(top, true, "it is not known whether the lock was broken: %s",
                    message_of(monitor, r));
    else if (r < 0)
        top_message(top, true, "not broken: %s", message_of(monitor, r));
    else
        top_message(top, false, "broken: \"%s\", %s", top->target_name, top->target_text);
}
