/* session.c - what all sessions of this kind have: a sid that nobody else has. */
#include "store/served/served.h"

#include "base/random.h"

#include <inttypes.h>
#include <stdio.h>

void hf_served_start_afresh(struct hf_served *served)
{
    snprintf(served->sid, sizeof served->sid, "%016" PRIx64, hf_random());
    served->fresh = true;
}
