/* will.c - what it takes to end a session from another process, and doing so.
 *
 * A will is the session's id and its password.  Whoever has these can greet any server in
 * that session, as its owner does after a broken connection.  Then it says CLOSE.
 *
 *     greeted in the session --> CLOSE sent --answered------> LOST
 *          ^                          |
 *          +---- the connection broke-+
 *          |
 *     greeted with none, or CLOSE refused as of an expired session --> LOST
 *
 * The proof that the session is dead is one of these two answers.  That the server hangs up
 * is none: it may have done so before it read the CLOSE.  A server without a quorum proves
 * nothing, and is passed over as always.
 *
 * Which server is asked does not matter.  Whether a session lives is for the leader to say,
 * even if a follower that lags behind is asked, so none has to catch up first.  CLOSE is carried out even if the owner took
 * the session back meanwhile: of all requests it alone is not bound to the newest connection.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ID_SIZE ((size_t)8)

int hf_zk_will_write(struct hf_store *store, void *ret)
{
    const struct hf_zk_link *link = &((const struct hf_zk *)store)->link;
    unsigned char           *bytes = ret;

    static_assert(ID_SIZE + sizeof link->password <= HF_WILL_MAX, "it has to fit");
    if (link->session == 0)
        return 0;
    for (size_t i = 0; i < ID_SIZE; i++)
        bytes[i] = (unsigned char)((uint64_t)link->session >> 8 * i);
    memcpy(bytes + ID_SIZE, link->password, sizeof link->password);
    return (int)(ID_SIZE + sizeof link->password);
}

int hf_zk_will_read(struct hf_zk *zk, const struct hf_config *config, char *errmsg)
{
    struct hf_zk_link   *link = &zk->link;
    const unsigned char *bytes = config->will;
    uint64_t             id = 0;

    for (size_t i = 0; i < ID_SIZE && i < config->will_size; i++)
        id |= (uint64_t)bytes[i] << 8 * i;
    if (config->will_size != ID_SIZE + sizeof link->password || id == 0) {
        snprintf(errmsg, HF_ERRMSG_MAX, "the will is of no session of ZooKeeper's");
        return HF_EINVAL;
    }
    link->session = (int64_t)id;
    memcpy(link->password, bytes + ID_SIZE, sizeof link->password);
    link->executes = true;
    return 0;
}

static void on_closed(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    (void)data;
    if (reply->error == HF_ZK_OK)
        hf_zk_link_end(zk);
    else if (reply->error != HF_ZK_CONNECTION_LOSS)
        hf_dial_break(&zk->dial, "does not close the session");
}

void hf_zk_will_execute(struct hf_zk *zk)
{
    assert(zk->link.session != 0);
    hf_zk_call_begin(zk, &zk->link.end, HF_ZK_CLOSE, on_closed, NULL);
    hf_zk_call_end(zk);
}
