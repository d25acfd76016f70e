/* session.c - which session is ours, and its session key, which is just its sid.
 *
 * A client that knows the sid and may call the server can end the session.  The store
 * that does so (`only_ends`) never has another session.  It is done when that session
 * is gone:
 *
 *     DOWN --connected--> bye for that sid --done, or there is no such session--> LOST
 *
 * Redis needs a hello first, which shuts out the session's owner.
 */
#include "store/served/served.h"

#include "base/random.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void hf_served_start_afresh(struct hf_served *served)
{
    assert(!served->only_ends);
    snprintf(served->sid, sizeof served->sid, "%016" PRIx64, hf_random());
    served->fresh = true;
}

/* ---- The session key ---------------------------------------------------------- */

/* Before hello is answered, the session cannot block anybody: there is no key. */
int hf_served_session_key(struct hf_store *store, void *ret)
{
    const struct hf_served *served = (const struct hf_served *)store;

    if (served->fresh)
        return 0;
    static_assert(HF_SERVED_SID <= HF_SESSION_KEY_MAX, "it fits");
    memcpy(ret, served->sid, HF_SERVED_SID);
    return HF_SERVED_SID;
}

int hf_served_take_session(struct hf_served *served, const struct hf_config *config,
                           char *errmsg)
{
    if (config->key == NULL) {
        hf_served_start_afresh(served);
        return 0;
    }
    served->only_ends = true;
    if (config->key_size == HF_SERVED_SID)
        memcpy(served->sid, config->key, HF_SERVED_SID);
    if (strspn(served->sid, "0123456789abcdef") == HF_SERVED_SID)
        return 0;
    snprintf(
        errmsg, HF_ERRMSG_MAX,
        "the session key names no session: %d hexadecimal digits would, and nothing else",
        HF_SERVED_SID);
    return HF_EINVAL;
}

/* Close the connection first, since its end would make the link DOWN. */
void hf_served_ended(struct hf_served *served)
{
    assert(served->only_ends && served->places == 0 && served->remote.tasks == NULL);
    hf_dial_close(served->remote.dial);
    hf_remote_lose(&served->remote);
    assert(hf_served_is_over(served));
}
