/* claim.c - a claim: a place as every kind has, and the node `claim` beside it.
 *
 *     MULTI { create _c_<uuid>-claim-N, create claim }     both, or none
 *
 * If `claim` is there nothing is made.  So claims do not queue, and one that comes too late
 * disturbs nobody.  Who holds is decided by the places, as always.  LEAVE, BREAK and the end
 * of a session delete both at once.
 *
 * A `claim` without its place counts as a place (names.h): a person has deleted the other
 * node, and the holder does not know yet; or it is of a Holdfast that made no other.
 */
#include "store/zookeeper/inner.h"

enum { CREATE }; /* call[] */

void hf_zk_claim_path(const struct hf_zk_line *line, char *ret)
{
    hf_zk_path(line, "claim", ret);
}

static void on_claim_made(struct hf_zk *zk, void *data, struct hf_zk_reply *reply)
{
    struct hf_zk_stat stat;

    if (reply->error != 0) {
        hf_zk_enter_failed(zk, data, reply->error);
        return;
    }
    struct hf_zk_text path = hf_zk_multi_made(zk, reply, &stat);
    hf_zk_enter_made(zk, data, path, &stat);
}

void hf_zk_claim_create(struct hf_zk *zk, struct hf_zk_task *task, const char *path,
                        const char *note)
{
    char   claim[HF_ZK_PATH_MAX];
    size_t begin =
        hf_zk_call_begin(zk, &task->call[CREATE], HF_ZK_MULTI, on_claim_made, task);

    hf_zk_claim_path(task->line, claim);
    hf_zk_multi_create(zk, path, note, HF_ZK_EPHEMERAL_SEQUENTIAL);
    hf_zk_multi_create(zk, claim, task->ticket->uuid, HF_ZK_EPHEMERAL);
    hf_zk_multi_end(zk);
    hf_zk_call_end(zk, begin);
}
