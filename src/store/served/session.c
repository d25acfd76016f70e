/* session.c - which session is ours, and what its will is: no more than its sid.
 *
 * Whoever knows the sid and may call the server at all can end the session.  The store
 * that does so (`executes`) never has another.  It is over when that session is dead:
 *
 *     DOWN --connected--> bye for that sid --done, or there is no such session--> LOST
 *
 * Redis needs a hello for it first, and keeps its owner out from then on.
 */
#include "store/served/served.h"

#include "base/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void hf_served_start_afresh(struct hf_served *served)
{
    assert(!served->executes);
    snprintf(served->sid, sizeof served->sid, "%016" PRIx64, hf_random());
    served->fresh = true;
}

/* ---- The will ------------------------------------------------------------------- */

/* Before hello is answered nothing of it can be in anybody's way. */
int hf_served_will(struct hf_store *store, void *ret)
{
    const struct hf_served *served = (const struct hf_served *)store;

    if (served->fresh)
        return 0;
    static_assert(HF_SERVED_SID <= HF_WILL_MAX, "it fits");
    memcpy(ret, served->sid, HF_SERVED_SID);
    return HF_SERVED_SID;
}

int hf_served_take_session(struct hf_served *served, const struct hf_config *config,
                           char *errmsg)
{
    if (config->will == NULL) {
        hf_served_start_afresh(served);
        return 0;
    }
    served->executes = true;
    if (config->will_size == HF_SERVED_SID)
        memcpy(served->sid, config->will, HF_SERVED_SID);
    if (strspn(served->sid, "0123456789abcdef") == HF_SERVED_SID)
        return 0;
    snprintf(errmsg, HF_ERRMSG_MAX,
             "the will names no session: %d hexadecimal digits would, and nothing else",
             HF_SERVED_SID);
    return HF_EINVAL;
}

/* First the connection, for its end would make the link DOWN. */
void hf_served_executed(struct hf_served *served)
{
    assert(served->executes && served->places == 0 && served->remote.tasks == NULL);
    hf_dial_close(served->remote.dial);
    hf_remote_lose(&served->remote);
    assert(hf_served_is_over(served));
}
