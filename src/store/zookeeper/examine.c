/* examine.c - EXAMINE: what a person should know about these servers. */
#include "store/zookeeper/inner.h"

void hf_zk_examine(struct hf_zk *zk, struct hf_zk_task *task)
{
    hf_zk_fail(zk, task, HF_EUNSUPPORTED, "not yet");
}
