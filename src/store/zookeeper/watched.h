/* watched.h - one watched path, between watched.c, set_watches.c and compare.c. */
#ifndef HF_ZK_WATCHED_H
#define HF_ZK_WATCHED_H

#include "store/zookeeper/inner.h"

/* watched.c draws them. */
enum hf_zk_watched_state { QUEUED, ARMING, ARMED, FIRING };

struct hf_zk_watched {
    struct hf_zk_watched    *next; /* in its bucket */
    enum hf_zk_watched_kind  kind;
    enum hf_zk_watched_state state;
    int64_t                  as_of;   /* QUEUED, ARMING: news since then are wanted */
    uint64_t                 stamp;   /* of a folder, as its listeners know it */
    enum hf_zk_news          early;   /* ARMING: news before the answer */
    bool                     read;    /* it has been: it is not hidden */
    bool                     reading; /* a read of it is in flight */
    bool                     goes;    /* nobody listens, and it will end by itself */
    bool                     telling; /* that it is armed, or what was read */
    struct hf_zk_listener   *listeners;
    struct hf_zk_listener   *untold;      /* of those, while telling */
    struct hf_zk_watched    *next_queued; /* QUEUED */
    struct hf_zk_call        call;        /* to have the server forget it */
    char                     path[];
};

struct hf_zk_watched *hf_zk_watched_find(struct hf_zk *zk, enum hf_zk_watched_kind kind,
                                         const char *path, size_t size);
void hf_zk_watched_set(struct hf_zk_watched *watched, enum hf_zk_watched_state state);
/* Of a folder that is not there the server watches that it is made. */
bool hf_zk_watched_is_absent(const struct hf_zk_watched *watched);
/* Nobody listens: forget it, and have the server forget it. */
void hf_zk_watched_remove(struct hf_zk *zk, struct hf_zk_watched *watched);
/* QUEUED, to be armed with the others. */
void hf_zk_watched_queue(struct hf_zk *zk, struct hf_zk_watched *watched);
/* The call that arms it was answered, with ZooKeeper's error. */
void hf_zk_watched_settle(struct hf_zk *zk, struct hf_zk_watched *watched, int error,
                          int64_t as_of);

#endif
