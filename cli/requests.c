/* requests.c - see requests.h. */
#include "requests.h"

#include "cli.h"
#include "status.h"

#include <stdio.h>

void requests_take(struct requests *requests, const char *reason)
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
