/* session_key.c - the key with which another process can end a session, and ending it.
 *
 * A session key is the session's id and its password.  With these a client can greet any
 * server in that session, as the owner does after a broken connection.  Then it sends
 * CLOSE.
 *
 *     greeted in the session --> CLOSE sent --answered------> LOST
 *          ^                          |
 *          +---- the connection broke-+
 *          |
 *     greeted with none, or CLOSE refused: the session has expired --> LOST
 *
 * Only these two answers prove that the session is dead.  A server that hangs up proves
 * nothing: it may have done so before it read the CLOSE.  A server without a quorum
 * proves nothing, and is skipped as always.
 *
 * Any server will do.  The leader decides whether a session lives, even if the client
 * asks a follower that lags behind, so no server has to catch up first.  CLOSE works
 * even if the owner has reconnected meanwhile: it is the only request that is not bound
 * to the newest connection.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ID_SIZE ((size_t)8)

int hf_zk_session_key_write(struct hf_store *store, void *ret)
{
    const struct hf_zk_link *link = &((const struct hf_zk *)store)->link;
    unsigned char           *bytes = ret;

    static_assert(ID_SIZE + sizeof link->password <= HF_SESSION_KEY_MAX, "it must fit");
    if (link->session == 0)
        return 0;
    for (size_t i = 0; i < ID_SIZE; i++)
        bytes[i] = (unsigned char)((uint64_t)link->session >> 8 * i);
    memcpy(bytes + ID_SIZE, link->password, sizeof link->password);
    return (int)(ID_SIZE + sizeof link->password);
}

int hf_zk_session_key_read(struct hf_zk *zk, const struct hf_config *config, char *errmsg)
{
    struct hf_zk_link   *link = &zk->link;
    const unsigned char *bytes = config->key;
    uint64_t             id = 0;

    for (size_t i = 0; i < ID_SIZE && i < config->key_size; i++)
        id |= (uint64_t)bytes[i] << 8 * i;
    if (config->key_size != ID_SIZE + sizeof link->password || id == 0) {
        snprintf(errmsg, HF_ERRMSG_MAX,
                 "the session key is not one of a ZooKeeper session");
        return HF_EINVAL;
    }
    link->session = (int64_t)id;
    memcpy(link->password, bytes + ID_SIZE, sizeof link->password);
    link->ends_session = true;
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

void hf_zk_end_session(struct hf_zk *zk)
{
    assert(zk->link.session != 0);
    hf_zk_call_begin(zk, &zk->link.end, HF_ZK_CLOSE, on_closed, NULL);
    hf_zk_call_end(zk);
}
