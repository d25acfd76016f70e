/* act.c - see act.h. */
#include "act.h"

#include "clock.h"

/* Nobody wants to look at a screen that stands still. */
#define LIMIT_MS 1500

static const char *message_of(struct eye *eye, int error)
{
    const char *message = hf_errmsg(eye->client);

    return message != NULL && *message != '\0' ? message : hf_strerror(error);
}

/* No line looks different by it, so the history is to be read all the same.  A store that keeps
 * none does not remember it: then this process does. */
static void remember(struct eye *eye, const struct top *top)
{
    const struct board_line *line = board_find(&eye->board, top->target_name);

    eye->looked = true;
    for (size_t i = 0; line != NULL && !eye->exact && i < line->report->count; i++)
        if (line->report->entry[i]->held)
            past_add_entry(&eye->past, "asked", line->report->entry[i], clock_wall_us(),
                           top->input.text);
}

void act_ask(struct eye *eye, struct top *top)
{
    const char *reason = *top->input.text != '\0' ? top->input.text : NULL;
    int         r = hf_ask(eye->client, top->target_name, reason, LIMIT_MS);

    if (r == HF_ENOTFOUND)
        top_say(top, false, "nobody holds \"%s\" any more: nobody was asked",
                top->target_name);
    else if (r < 0)
        top_say(top, true, "not known whether anybody was asked: %s", message_of(eye, r));
    else
        top_say(top, false, "asked %d holder%s of \"%s\"", r, r == 1 ? "" : "s",
                top->target_name);
    if (r > 0)
        remember(eye, top);
}

void act_break(struct eye *eye, struct top *top)
{
    int r = hf_break(eye->client, top->target_name, top->target_token, LIMIT_MS);

    if (r == HF_ENOTFOUND)
        top_say(top, false, "it was given up meanwhile; nothing was broken");
    else if (r == HF_ETIMEOUT || r == HF_EDOWN)
        top_say(top, true, "not known whether it was broken: %s", message_of(eye, r));
    else if (r < 0)
        top_say(top, true, "not broken: %s", message_of(eye, r));
    else
        top_say(top, false, "broken: \"%s\", %s", top->target_name, top->target_text);
}
