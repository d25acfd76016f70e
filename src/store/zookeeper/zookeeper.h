/* zookeeper.h - the ZooKeeper stores: zk: and zks:. */
#ifndef HF_ZOOKEEPER_H
#define HF_ZOOKEEPER_H

#include "store/store.h"

extern const struct hf_store_impl hf_zk_store, hf_zks_store;

#endif
