/* watched.h - one watched path, between watched.c and restore.c. */
#ifndef HF_ZK_WATCHED_H
#define HF_ZK_WATCHED_H

#include "store/zookeeper/inner.h"

/* watched.c draws them. */
enum hf_zk_watched_state { WANTED, ARMING, ARMED, FIRING };

struct hf_zk_watched {
    struct hf_zk_watched    *next; /* in its bucket */
    enum hf_zk_watched_kind  kind;
    enum hf_zk_watched_state state;
    bool                     bare;    /* by `exists`: a folder that is not there */
    bool                     goes;    /* nobody listens, and it will end by itself */
    uint64_t                 stamp;   /* of a folder, as it has been since it was armed */
    bool                     telling; /* that it is armed */
    struct hf_zk_listener   *listeners;
    struct hf_zk_listener   *untold; /* of those, while telling */
    struct hf_zk_call        call;
    char                     path[];
};

/* Have the server watch it; answered by ARMED, or otherwise. */
void hf_zk_watched_arm(struct hf_zk *zk, struct hf_zk_watched *watched);

#endif
