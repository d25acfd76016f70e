/* act.c - see act.h. */
#include "act.h"

/* Nobody wants to look at a screen that stands still. */
#define LIMIT_MS 1500

static const char *message_of(struct eye *eye, int error)
{
    const char *message = hf_errmsg(eye->client);

    return message != NULL && *message != '\0' ? message : hf_strerror(error);
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
