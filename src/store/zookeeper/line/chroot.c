/* chroot.c - the node below which all locks are; `holdfast init` creates it.
 *
 * Clients do not create it on their own: with a typo in the URL they would be below a
 * chroot of their own, and meet nobody.
 */
#include "store/zookeeper/inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hf_zk_root(const struct hf_zk *zk)
{
    return zk->config.chroot[0] != '\0' ? zk->config.chroot : "/";
}

static void on_chroot_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    if (reply->error != 0 && reply->error != HF_ZK_NODE_EXISTS &&
        reply->error != HF_ZK_CONNECTION_LOSS && zk->chroot_error == 0)
        zk->chroot_error = reply->error;
    free(data);
}

void hf_zk_chroot_make(struct hf_zk *zk)
{
    char path[HF_ZK_CHROOT];

    assert(strlen(zk->config.chroot) < sizeof path);
    zk->chroot_error = 0;
    for (size_t i = 1; zk->config.init && i <= strlen(zk->config.chroot); i++) {
        if (zk->config.chroot[i] != '/' && zk->config.chroot[i] != '\0')
            continue;
        struct hf_zk_call *call = calloc(1, sizeof *call);
        if (call == NULL)
            return; /* the next request reports that it is missing */
        memcpy(path, zk->config.chroot, i);
        path[i] = '\0';
        hf_zk_call_create(zk, call, path, "", HF_ZK_PERSISTENT, on_chroot_made, call);
    }
}

int hf_zk_chroot_fail(struct hf_zk *zk)
{
    if (zk->chroot_error != 0)
        return hf_zk_fault(zk, zk->chroot_error, "make", zk->config.chroot);
    snprintf(zk->base.errmsg, sizeof zk->base.errmsg,
             "ZooKeeper has no node %.120s, the chroot of the store URL; `holdfast init` "
             "makes it",
             zk->config.chroot);
    return HF_ENOTFOUND;
}
